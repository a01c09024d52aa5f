"""`lm-eval:TASK` against lm_eval by itself, asked of the same server: every value of every sample, every number."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench._lm_eval_documents import mmlu_subjects, tasks
from bench._lm_eval_setting import Setting, setting

from assay.core.journal import read_records
from assay.core.types import Score
from assay.models.embedded.weights import model_folder
from assay.results.board.leaderboard import read_leaderboard

Plan = dict[str, Any]
SHUFFLED = "gpqa_main_n_shot"
"""It shuffles its choices whenever its documents are read, and lm_eval reads them again before it scores: what it then
scores is not what it asked about, unless it is made to keep that."""
VARIANTS: list[Plan] = [
    {"task": "arc_easy", "num_fewshot": 5},
    {"task": "hellaswag", "num_fewshot": 3},
    {"task": "winogrande", "num_fewshot": 5},
    {"task": "mmlu_astronomy", "num_fewshot": 5},
    {"task": "triviaqa", "num_fewshot": 5},
    {"task": "wikitext", "model": "short"},
    {"task": "gsm8k", "chat": True},
    {"task": "gsm8k", "chat": True, "turns": True},
    {"task": "arc_challenge_chat", "chat": True, "turns": True, "num_fewshot": 2},
    {"task": "mmlu_pro_math", "chat": True, "turns": True},
    {"task": "ifeval", "chat": True},
    {"task": "mmlu", "num_fewshot": 2},
]
"""Few-shot examples, chats, turns, windows of a short context, and a group of groups."""
SERVED: dict[str, tuple[str, ...]] = {
    "`assay model serve`": ("arc_easy", "boolq", "piqa", "lambada_openai", "mmlu_astronomy"),
    "llama.cpp's server": ("triviaqa", "nq_open", "squad_completion"),
}
"""A real model: log-likelihoods, whose answers do not depend on their company, and writing, one question at a time."""
SERVED_DOCUMENTS = 5


def main(named: Sequence[str] = ()) -> None:
    plain: list[Plan] = sorted(
        ({"task": task} | ({"documents": "read once"} if task == SHUFFLED else {}) for task in named or tasks()),
        key=len,  # those for which lm_eval has to be changed come last
    )
    plans = [*plain, *(VARIANTS if not named else ())]
    in_turn = sorted(plans, key=lambda plan: "documents" in plan)
    print("| task | how | numbers | samples | largest difference of a value | of a number |")
    print("| --- | --- | --- | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        needed = {*tasks(), *(mmlu_subjects() if not named else ())} if not named else {*named}
        with setting(Path(name), sorted(needed)) as here:
            out = Path(name) / "theirs.json"
            arguments = [here.address, str(here.tokenizer), str(out)]
            here.theirs("each", *arguments, *map(json.dumps, in_turn))
            theirs = json.loads(out.read_text())
            worst = 0.0
            for plan, run in _our_runs(here, plain, plans[len(plain) :]):
                row, far = _row(plan, run, theirs[json.dumps(plan)])
                worst = max(worst, far)
                print(row, flush=True)
    print(f"\n{len(plans)} rows; the largest difference is {worst:.0e}")


def served() -> None:
    """The same with the embedded model behind real servers."""
    print("| task | server | numbers | samples | largest difference of a value | of a number |")
    print("| --- | --- | --- | ---: | ---: | ---: |", flush=True)
    modules = (
        ("assay", "model", "serve", "--port", "0"),
        ("assay.models.adapters.local_server", str(model_folder() / "model.gguf"), "--slots", "1"),
    )
    for (server, names), module in zip(SERVED.items(), modules, strict=True):
        if "llama" in server and importlib.util.find_spec("xllamacpp") is None:
            print("left out: llama.cpp's server needs the package xllamacpp")
            continue
        with (
            tempfile.TemporaryDirectory() as name,
            setting(Path(name), names, server=module, most_documents=SERVED_DOCUMENTS) as here,
        ):
            likelihoods = "llama" not in server
            plans = [{"task": task, "model": "embedded", "likelihoods": likelihoods} for task in names]
            out = Path(name) / "theirs.json"
            here.theirs("each", here.address, str(here.tokenizer), str(out), *map(json.dumps, plans))
            theirs = json.loads(out.read_text())
            here.ours(names, "embedded", Path(name) / "run", "--concurrency", "1")
            for plan in plans:
                row, _ = _row({"task": plan["task"]}, Path(name) / "run", theirs[json.dumps(plan)])
                print(row.replace(" |  | ", f" | {server} | ", 1), flush=True)


def _our_runs(here: Setting, plain: Sequence[Plan], variants: Sequence[Plan]) -> Iterator[tuple[Plan, Path]]:
    together = here.folder / "together"
    here.ours([plan["task"] for plan in plain], "long", together)
    yield from ((plan, together) for plan in plain)
    for number, plan in enumerate(variants):
        run = here.folder / f"variant-{number}"
        flags = ["--num-fewshot", str(plan["num_fewshot"])] if "num_fewshot" in plan else []
        flags += ["--chat-template"] if plan.get("chat") else []
        flags += ["--fewshot-as-turns"] if plan.get("turns") else []
        here.ours([plan["task"]], plan.get("model", "long"), run, *flags)
        yield plan, run


def _row(plan: Plan, run: Path, theirs: dict[str, Any]) -> tuple[str, float]:
    task = plan["task"]
    how = ", ".join(f"{key} {value}" if value is not True else key for key, value in plan.items() if key != "task")
    if "error" in theirs:
        return f"| {task} | {how} | lm_eval: {theirs['error']} | | | |", math.inf
    board = read_leaderboard(run)
    ours = {(row.task, each.name): each.value for row in board.tasks for each in row.aggregates}
    ours |= {(row.group, row.metric): row.score for row in board.groups}
    numbers = {
        (name, key.removesuffix(",none")): value
        for name, found in {**theirs["results"], **theirs["groups"]}.items()
        for key, value in found.items()
        if "," in key and "_stderr" not in key and isinstance(value, int | float)
    }
    of_numbers = max(_distance(ours.get(key), value) for key, value in numbers.items())
    scores = {
        (each.task, each.sample_id): each.scores[0] for each in read_records(run / "journal.jsonl") if each.scores
    }
    samples = [(name, each) for name, rows in theirs["samples"].items() for each in rows]
    of_values = max(_of_sample(scores.get((name, str(each["doc_id"]))), each) for name, each in samples)
    shown = ", ".join(dict.fromkeys(f"`{key}`" for _, key in numbers))
    count = len({(name, each["doc_id"]) for name, each in samples})
    return f"| {task} | {how} | {shown} | {count} | {of_values:.0e} | {of_numbers:.0e} |", max(of_values, of_numbers)


def _of_sample(score: Score | None, theirs: dict[str, Any]) -> float:
    if score is None:
        return math.inf
    ours: dict[str, Any] = {**score.values, **(score.metadata or {}).get("items", {})}
    suffix = "" if theirs["filter"] == "none" else f",{theirs['filter']}"
    names = [name for name in theirs if name not in ("doc_id", "filter")]
    return max((_distance(ours.get(name + suffix), theirs[name]) for name in names), default=0.0)


def _distance(one: Any, other: Any) -> float:
    a, b = list(_leaves(one)), list(_leaves(other))
    if len(a) != len(b):
        return math.inf
    return max((_apart(x, y) for x, y in zip(a, b, strict=True)), default=0.0)


def _apart(one: Any, other: Any) -> float:
    if one == other:
        return 0.0
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other)
    return math.inf


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


if __name__ == "__main__":
    main(sys.argv[1:])
