"""Boards of runs that came out as a test says, attempt by attempt, without running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from tests.journals import write_lines

from assay.core.fingerprint import short_fingerprint
from assay.core.task import REFUSED_HERE
from assay.core.types import DatasetSpec, Failure, PartSpec, Record, Score, TaskDefinition
from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View
from assay.run_config import RunConfig
from assay.run_file import RUN_SCHEMA, RunFile
from assay.tasks.descriptions import with_descriptions

BROKEN, REFUSED, EXCLUDED = "broken", "refused", "excluded"
Came = float | str | Score
"""What an attempt came to: its score, or how it came to none."""


def board_of(
    folder: Path, tasks: Mapping[str, Sequence[Sequence[Came]]], aggregates: Mapping[str, PartSpec] | None = None
) -> Leaderboard:
    """The board of a run with these tasks, samples and attempts."""
    return build_leaderboard(write_run(folder, tasks, aggregates), View())


def write_run(
    folder: Path, tasks: Mapping[str, Sequence[Sequence[Came]]], aggregates: Mapping[str, PartSpec] | None = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    definitions = tuple(
        with_descriptions(_definition(name, len(rows), (aggregates or {}).get(name))) for name, rows in tasks.items()
    )
    repeat = max(len(row) for rows in tasks.values() for row in rows)
    run = RunFile(
        schema=RUN_SCHEMA,
        fingerprint="scripted",
        tasks={name: name for name in tasks},
        model={"name": "scripted"},
        settings={},
        config=RunConfig(repeat=repeat),
        definitions=definitions,
        versions={},
        created="",
        command=[],
    )
    (folder / "run.json").write_bytes(msgspec.json.encode(run))
    records = [
        _record(task, index, attempt, came)
        for task, rows in tasks.items()
        for index, row in enumerate(rows)
        for attempt, came in enumerate(row, start=1)
    ]
    write_lines(folder / "journal.jsonl", records)
    return folder


def _definition(name: str, size: int, aggregate: PartSpec | None) -> TaskDefinition:
    mean = PartSpec(key="score", use="mean", options={"field": "score", "bounds": [0.0, 1.0]})
    return TaskDefinition(
        name=name,
        format="task_folder",
        dataset=DatasetSpec(use="json_lines", sha256=name, size=size),
        solver=PartSpec(key="single_turn", use="single_turn"),
        scorers=(PartSpec(key="match", use="metric", options={"metric": "exact_match"}),),
        aggregates=(aggregate or mean,),
        metric="exact_match",
    )


def _record(task: str, index: int, attempt: int, came: Came) -> Record:
    changes: dict[str, Any] = {}
    if came in (BROKEN, REFUSED):
        kind = REFUSED_HERE if came == REFUSED else "connection"
        changes["failures"] = (Failure(stage="model", kind=kind, message="the line is down"),)
    else:
        value = 0.0 if came == EXCLUDED else came
        changes["scores"] = (value if isinstance(value, Score) else Score(name="match", values={"score": value}),)
        changes["excluded"] = ("rule",) if came == EXCLUDED else ()
    key = short_fingerprint((task, index, attempt))
    return Record(key=key, task=task, sample_id=f"s{index}", index=index, attempt=attempt, **changes)
