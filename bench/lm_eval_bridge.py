"""`lm-eval:TASK` against lm_eval itself: the same made-up documents, the same scripted model, sample by sample.

Needs `lm_eval` in this environment (extra `lm-eval`). The documents have the shapes of the hub's; the model's
likelihoods and answers are made of a hash of the question, so that both programs hear the same in any order.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from assay.core.journal import read_records
from assay.core.seams import Capabilities
from assay.core.types import Completion, Request
from assay.runs.evaluate import RunOptions, run_all
from assay.runs.plan import make_config, plan_runs
from assay.runs.progress import run_blocking
from assay.tasks.lm_eval.source import LmEvalOptions, read_lm_eval

N = 8
TASKS: dict[str, tuple[list[str], Any]] = {
    "piqa": (
        ["train", "validation"],
        lambda n: {"goal": f"goal {n}", "sol1": f"do {n}", "sol2": "don't", "label": n % 2},
    ),
    "hellaswag": (
        ["train", "validation"],
        lambda n: {
            "activity_label": "Cooking",
            "ctx_a": f"A man {n}",
            "ctx_b": "he",
            "ind": n,
            "label": str(n % 4),
            "ctx": "x",
            "endings": [f"stirs {n} times.", "runs [title] away.", "sleeps.", "sings a song."],
        },
    ),
    "winogrande": (
        ["train", "validation"],
        lambda n: {
            "sentence": f"The cup {n} fell because _ was wet.",
            "option1": "cup",
            "option2": "hand",
            "answer": str(1 + n % 2),
        },
    ),
    "boolq": (["train", "validation"], lambda n: {"passage": f"text {n}", "question": "is it so", "label": n % 2}),
    "copa": (
        ["train", "validation"],
        lambda n: {
            "premise": f"It rained {n}.",
            "choice1": "I got wet.",
            "choice2": "I ran.",
            "question": "effect",
            "label": n % 2,
        },
    ),
    "cola": (["train", "validation"], lambda n: {"sentence": f"They {n} went.", "label": n % 2, "idx": n}),
    "mrpc": (
        ["train", "validation"],
        lambda n: {"sentence1": f"a {n}", "sentence2": "b", "label": n % 2, "idx": n},
    ),
    "truthfulqa_mc2": (
        ["validation"],
        lambda n: {
            "question": f"why {n}?",
            "mc1_targets": {"choices": ["a", "b"], "labels": [1, 0]},
            "mc2_targets": {"choices": ["yes it is", "no", "maybe"], "labels": [1, 1, 0]},
        },
    ),
    "lambada_openai": (["test"], lambda n: {"text": f"once there was a word {n} and it was here"}),
    "wikitext": (
        ["train", "validation", "test"],
        lambda n: {"page": f" = Page {n} = \n words of a page , many words . "},
    ),
    "gsm8k": (
        ["train", "test"],
        lambda n: {"question": f"What is {n} + 1?", "answer": f"It is {n + 1}.\n#### {n + 1}"},
    ),
    "nq_open": (["train", "validation"], lambda n: {"question": f"who {n}", "answer": [f"name {n}", "other"]}),
    "sciq": (
        ["train", "validation", "test"],
        lambda n: {
            "question": f"q {n}",
            "support": "s",
            "correct_answer": "c",
            "distractor1": "x",
            "distractor2": "yy",
            "distractor3": "zzz",
        },
    ),
    "openbookqa": (
        ["train", "validation", "test"],
        lambda n: {
            "question_stem": f"stem {n}",
            "choices": {"text": ["a", "bb", 'it\'s "q"', "d"], "label": ["A", "B", "C", "D"]},
            "answerKey": "ABCD"[n % 4],
        },
    ),
    "arc_easy": (
        ["train", "validation", "test"],
        lambda n: {
            "id": str(n),
            "question": f"q {n}",
            "choices": {"text": ["a", "bb", 'it\'s "q"', "d"], "label": ["A", "B", "C", "D"]},
            "answerKey": "ABCD"[n % 4],
        },
    ),
    "rte": (["train", "validation"], lambda n: {"sentence1": f"a {n}", "sentence2": "b", "label": n % 2, "idx": n}),
    "sst2": (["train", "validation"], lambda n: {"sentence": f"nice {n} ", "label": n % 2, "idx": n}),
    "qnli": (["train", "validation"], lambda n: {"question": f"a {n}", "sentence": "b", "label": n % 2, "idx": n}),
    "commonsense_qa": (
        ["train", "validation"],
        lambda n: {
            "question": f"q {n}",
            "question_concept": "x",
            "answerKey": "ABCDE"[n % 5],
            "choices": {"text": ["a", "b", "c", "d", "e"], "label": ["A", "B", "C", "D", "E"]},
        },
    ),
    "mmlu_astronomy": (
        ["dev", "test"],
        lambda n: {"question": f"q {n}", "choices": ["a", "b", "c", "d"], "answer": n % 4, "subject": "astronomy"},
    ),
    "gsm8k_cot_self_consistency": (
        ["train", "test"],
        lambda n: {"question": f"What is {n} + 1?", "answer": f"It is {n + 1}.\n#### {n + 1}"},
    ),
    "triviaqa": (
        ["train", "validation"],
        lambda n: {"question": f"who {n}", "answer": {"aliases": [f"name {n}", "other"], "value": "other"}},
    ),
}


def chance(*texts: str) -> float:
    return int.from_bytes(hashlib.sha256("\0".join(texts).encode()).digest()[:6], "big") / 2**48


def likelihood(prompt: str, continuation: str) -> tuple[float, bool]:
    found = chance(prompt, continuation)
    return -20.0 * found - 0.1, found < 0.3


def written(prompt: str) -> str:
    return f" It is {int(chance(prompt) * 9)}. #### {int(chance(prompt) * 9)} name"


class Scripted:
    """The model, as assay asks it."""

    name = "scripted"
    capabilities = Capabilities(scores_continuations=True)

    async def generate(self, request: Request) -> Completion:
        prompt = request.text()
        if request.continuation is None:
            return Completion(text=written(prompt))
        logprob, greedy = likelihood(prompt, request.continuation)
        return Completion(text="", logprob=logprob, is_greedy=greedy)


def their_results(task: str, data: dict[str, str]) -> dict[str, Any]:
    from lm_eval.api.model import LM
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.tasks import TaskManager

    from assay.tasks.lm_eval import worker

    class Theirs(LM):
        def loglikelihood(self, requests: Any) -> Any:
            return [likelihood(*each.args) for each in requests]

        def loglikelihood_rolling(self, requests: Any) -> Any:
            return [likelihood("", each.args[0])[0] for each in requests]

        def generate_until(self, requests: Any) -> Any:
            return [written(each.args[0]) for each in requests]

    manager = worker._manager({"folder": tempfile.gettempdir()})
    assert isinstance(manager, TaskManager)
    with worker._local_files(data), contextlib.redirect_stderr(io.StringIO()):
        found: dict[str, Any] = simple_evaluate(Theirs(), tasks=[task], task_manager=manager, bootstrap_iters=0)
    return found


def main() -> None:
    asked = sys.argv[1:] or TASKS
    print("| task | numbers | samples | largest difference of a sample | of a number |")
    print("| --- | --- | ---: | ---: | ---: |")
    for task in asked:
        splits, make = TASKS[task]
        with tempfile.TemporaryDirectory() as name:
            print(row(task, splits, make, Path(name)), flush=True)


def row(task: str, splits: list[str], make: Any, folder: Path) -> str:
    data = {}
    for split in splits:
        data[split] = str(folder / f"{split}.jsonl")
        Path(data[split]).write_text("".join(json.dumps(make(n)) + "\n" for n in range(N)))
    theirs = their_results(task, data)
    definitions = read_lm_eval(f"lm-eval:{task}", LmEvalOptions(data=data), trust=True)
    (planned,) = plan_runs(definitions, make_config(cache=False, trust=True), [Scripted()])
    (result,) = run_blocking(run_all([planned], RunOptions(folder=folder / "run")))
    ours = {each.name: each.value for each in result.leaderboard.tasks[0].aggregates}
    numbers = {
        key.removesuffix(",none"): value
        for key, value in theirs["results"][task].items()
        if "," in key and "_stderr" not in key and isinstance(value, int | float)
    }
    far = max(abs((ours.get(key) if ours.get(key) is not None else 1e9) - value) for key, value in numbers.items())
    scores = {each.sample_id: each.scores[0] for each in read_records(folder / "run" / "journal.jsonl") if each.scores}
    apart = 0.0
    for each in theirs["samples"][task]:
        own = scores[str(each["doc_id"])]
        for metric in each["metrics"]:
            key = metric if each["filter"] == "none" else f"{metric},{each['filter']}"
            found = own.values.get(key, (own.metadata or {}).get("items", {}).get(key))
            pairs = zip(found, each[metric], strict=True) if isinstance(found, list) else [(found, each[metric])]
            apart = max(apart, *(0.0 if a == b else abs(float(a) - float(b)) for a, b in pairs))
    return f"| {task} | {', '.join(f'`{key}`' for key in numbers)} | {len(scores)} | {apart:.0e} | {far:.0e} |"


if __name__ == "__main__":
    main()
