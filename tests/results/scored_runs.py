"""Run folders with given scores, written as their journals: nothing is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike
from tests.journals import write_lines

from assay.core.types import (
    Completion,
    DatasetSpec,
    Failure,
    PartSpec,
    Record,
    Score,
    TaskDefinition,
    TaskLabels,
    Trace,
)
from assay.results.board.board_types import write_leaderboard_file
from assay.results.board.leaderboard import build_leaderboard
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.tasks.descriptions import with_descriptions

FAILED, REMAINING = np.nan, -np.inf


class Scores(NamedTuple):
    """The scores of one task."""

    values: ArrayLike
    """Samples × attempts, or samples alone; FAILED and REMAINING where there is none."""
    groups: ArrayLike | None = None
    """The group of each sample."""
    bounds: tuple[float, float] | None = (0.0, 1.0)
    """None for values without a scale."""
    weight: float = 1.0
    """In the overall score."""


def write_scored(folder: Path, tasks: Mapping[str, Scores], *, model: str = "", created: str = "2026-01-01") -> Path:
    """A run whose attempts scored this."""
    matrices = {task: np.asarray(each.values, dtype=float) for task, each in tasks.items()}
    matrices = {task: each if each.ndim == 2 else each[:, None] for task, each in matrices.items()}
    [repeat] = {each.shape[1] for each in matrices.values()}
    definitions = tuple(with_descriptions(_definition(task, each, len(matrices[task]))) for task, each in tasks.items())
    run = RunFile(
        schema=RUN_SCHEMA,
        fingerprint=f"{folder.name}",
        tasks={task: task.encode().hex() for task in tasks},
        model={"name": model or folder.name},
        settings={"repeat": repeat},
        config=RunConfig(model=model or folder.name, repeat=repeat),
        definitions=definitions,
        versions={},
        created=f"{created}T00:00:00Z",
        command=["assay", "run"],
    )
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    numbered = enumerate(tasks.items())
    lines = [line for place, (task, each) in numbered for line in _lines(place, task, each, matrices[task])]
    write_lines(folder / "journal.jsonl", lines)
    write_leaderboard_file(folder / "leaderboard.json", build_leaderboard(folder))
    return folder


def _definition(task: str, scores: Scores, size: int) -> TaskDefinition:
    scale = {} if scores.bounds is None else {"bounds": list(scores.bounds)}
    return TaskDefinition(
        name=task,
        format="task_folder",
        dataset=DatasetSpec(use="json_lines", sha256=task.encode().hex(), size=size),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(PartSpec(key="match", use="metric", options={"metric": "exact_match"}),),
        aggregates=(PartSpec(key="headline", use="mean", options={"field": _field(scores), **scale}),),
        metric=task,
        shown=TaskLabels(weight=scores.weight),
    )


def _field(scores: Scores) -> str:
    return "seconds" if scores.bounds is None else "score"


def _lines(place: int, task: str, scores: Scores, matrix: np.ndarray) -> Iterator[Record]:
    groups = None if scores.groups is None else np.asarray(scores.groups)
    for (index, attempt), value in np.ndenumerate(matrix):
        if value == REMAINING:
            continue
        known = {
            "key": f"{((place * 1_000_000 + index) << 8) + attempt + 1:016x}",
            "task": task,
            "sample_id": f"s{index}",
            "index": index,
            "attempt": attempt + 1,
            "targets": (str(index),),
            "metadata": {"group": None if groups is None else f"g{groups[index]}"},
            "seconds": 0.5,
        }
        if np.isnan(value):
            yield Record(**known, failures=(Failure(stage="model", kind="connection", message="no answer"),))
            continue
        answer = Completion(text=str(value), tokens_in=10, tokens_out=5)
        yield Record(
            **known,
            trace=Trace(prediction=answer.text, prompt=f"question {index}", completions=(answer,)),
            scores=(Score(name="match", values={_field(scores): float(value)}),),
        )
