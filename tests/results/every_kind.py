"""Two finished runs with a task of every kind, written as their journals: what every table, page and gate reads."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.journals import write_lines

from assay.core.types import (
    Completion,
    DatasetSpec,
    Failure,
    PartSpec,
    Record,
    Score,
    TaskDefinition,
    Trace,
    Usage,
)
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.tasks.descriptions import with_descriptions

Values = dict[str, Any]
SAMPLES = 24
LEVEL = 0.9
GROUP_BY = "passage"


def right_wrong(chance: random.Random, skill: float) -> Values:
    return {"score": float(chance.random() < skill)}


def graded(chance: random.Random, skill: float) -> Values:
    return {"score": round(min(1.0, chance.random() ** (1.0 - skill)), 3)}


def judged(chance: random.Random, skill: float) -> Values:
    return {"score": 1 + round(4 * chance.random() ** (1.0 - skill))}


def classified(chance: random.Random, skill: float) -> Values:
    truth = chance.choice("abc")
    return {"gt": truth, "said": truth if chance.random() < skill else chance.choice("abc")}


def read_text(chance: random.Random, skill: float) -> Values:
    size = 40.0 + chance.randrange(60)
    nats = size * (2.0 - skill) * (0.8 + 0.4 * chance.random())
    return {"nats": nats, "bytes": size, "words": size / 5, "bits_per_byte": nats / size / math.log(2)}


def faults(chance: random.Random, skill: float) -> Values:
    return {"hallucination": 0.0 if chance.random() < skill / 2 else round((1.0 - skill) * chance.random(), 3)}


MEAN = ("mean", {"field": "score"})
KINDS: dict[str, tuple[Callable[[random.Random, float], Values], tuple[str, dict[str, Any]]]] = {
    "right/wrong": (right_wrong, MEAN),
    "graded": (graded, MEAN),
    "clustered": (right_wrong, MEAN),
    "failed": (right_wrong, MEAN),
    "excluded": (graded, MEAN),
    "judged": (judged, ("mean", {"field": "score", "bounds": [1, 5], "scorer": "judge"})),
    "classification": (classified, ("multiclass-classification", {"field_gt": "gt", "field_pred": "said"})),
    "hallucination": (faults, ("mean", {"field": "hallucination", "scorer": "rag"})),
    "perplexity": (read_text, ("bits_per_byte", {})),
}
REPEATED = ("right/wrong", "graded", "failed")


def write_run(
    folder: Path,
    model: str,
    skill: float,
    tasks: tuple[str, ...] = tuple(KINDS),
    *,
    repeat: int = 1,
    targets: Callable[[int], str] = str,
    group_by: str = GROUP_BY,
) -> Path:
    folder.mkdir(parents=True)
    definitions = tuple(with_descriptions(_definition(task)) for task in tasks)
    run = RunFile(
        schema=RUN_SCHEMA,
        fingerprint=f"{model}-{repeat}",
        tasks={task: task.encode().hex() for task in tasks},
        model={"name": model},
        settings={"repeat": repeat},
        config=RunConfig(model=model, repeat=repeat, level=LEVEL, group_by=group_by),
        definitions=definitions,
        versions={},
        created="2026-01-01T00:00:00Z",
        command=["assay", "run"],
    )
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    chance = random.Random(model)
    lines = [
        _record(task, index, attempt, KINDS[task][0](chance, skill), targets(index))
        for task in tasks
        for index in range(SAMPLES)
        for attempt in range(1, repeat + 1)
    ]
    write_lines(folder / "journal.jsonl", lines)
    write_leaderboard_file(folder / "leaderboard.json", build_leaderboard(folder))
    return folder


def _definition(task: str) -> TaskDefinition:
    use, options = KINDS[task][1]
    return TaskDefinition(
        name=task,
        format="task_folder",
        dataset=DatasetSpec(use="json_lines", sha256=task.encode().hex(), size=SAMPLES),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(
            PartSpec(key=_scorer(task), use="rag_checker")
            if task == "hallucination"
            else PartSpec(key=_scorer(task), use="metric", options={"metric": "exact_match"}),
        ),
        aggregates=(PartSpec(key="headline", use=use, options=options),),
        metric=use if use == "bits_per_byte" else task,
    )


def _scorer(task: str) -> str:
    return {"judged": "judge", "hallucination": "rag"}.get(task, "match")


def _record(task: str, index: int, attempt: int, values: Values, target: str) -> Record:
    known = {
        "key": f"{((list(KINDS).index(task) * SAMPLES + index) << 8) + attempt:016x}",
        "task": task,
        "sample_id": f"s{index}",
        "index": index,
        "attempt": attempt,
        "targets": (target,),
        "metadata": {"level": "easy" if index % 3 else "hard"}
        # a group of nothing is no group
        | {GROUP_BY: f"text {index // 4}" if task == "clustered" else None},
        "seconds": 0.5,
    }
    if task == "failed" and index % 7 == 3:
        broken = Failure(stage="model", kind="timeout" if index % 2 else "server_error", message="no answer")
        return Record(**known, failures=(broken,))
    answer = Completion(text=str(values), tokens_in=10, tokens_out=5)
    return Record(
        **known,
        trace=Trace(prediction=answer.text, prompt=f"question {index}", completions=(answer,)),
        scores=(Score(name=_scorer(task), values=values),),
        excluded=("too_easy",) if task == "excluded" and index % 5 == 0 else (),
        usage=(Usage(model="a judge", answers=1, tokens_in=50, tokens_out=5),) if task == "judged" else (),
    )
