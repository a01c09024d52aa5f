"""What every log gets of a run, under the same names: its settings when it begins, its numbers when it ends."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.types import Bounds
from assay.costs.spending import Cost
from assay.results.board.board_types import Leaderboard, ScoreInterval, TaskRow
from assay.runs.evaluate import RunResult
from assay.runs.listeners import RunStart


def package(name: str, extra: str) -> Any:
    """The package that a log is written with."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UsageError(f"--log-to {extra} needs {error.name}: pip install 'assay-eval[{extra}]'") from error


def run_id(start: RunStart) -> str:
    """The same for a run that is resumed, another for a fresh one."""
    return f"{start.run.fingerprint[:16]}-{start.run.created.translate(_DIGITS)}"


_DIGITS = {ord(mark): None for mark in "-:TZ"}


def params_of(start: RunStart) -> dict[str, Any]:
    """Model, settings, fingerprints and versions, flat: `model.name`, `settings.repeat`, `task.capitals.sha256`."""
    return dict(_flat(_about(start) | {"task": tasks_of(start)}))


def params_of_run(start: RunStart) -> dict[str, Any]:
    """The same without the tasks."""
    return dict(_flat(_about(start)))


def tasks_of(start: RunStart) -> dict[str, dict[str, str | None]]:
    """What each task is."""
    run = start.run
    return {
        definition.name: {"sha256": definition.dataset.sha256, "fingerprint": run.tasks[definition.name]}
        for definition in run.definitions
    }


def _about(start: RunStart) -> dict[str, Any]:
    run = start.run
    return {
        "fingerprint": run.fingerprint,
        "model": run.model,
        "settings": run.settings,
        "versions": run.versions,
        "attempts": start.total,
    }


def metrics_of(board: Leaderboard) -> dict[str, float]:
    """Numbers only: what has no value is not there, and a failure is counted as one."""
    of_tasks = {f"{row.task}/{name}": value for row in board.tasks for name, value in metrics_of_task(row).items()}
    return metrics_of_run(board) | of_tasks


def metrics_of_run(board: Leaderboard) -> dict[str, float]:
    """The numbers over all tasks."""
    metrics = dict(_scored("overall_", board.overall_score, board.overall_interval))
    metrics |= _bounded("overall_", board.overall_bounds) | {"failed": board.failed, "timeouts": board.timeouts}
    return metrics | _costs(cost=board.cost, judge_cost=board.judge_cost)


def metrics_of_task(row: TaskRow) -> dict[str, float]:
    names = ("failed", "timeouts", "scored", "total", "latency_ms", "tokens_in", "tokens_out")
    counts = {name: getattr(row, name) for name in names}
    counts["coverage"] = row.coverage
    return dict(_scored("", row.score, row.interval)) | _bounded("", row.bounds) | counts | _costs(cost=row.cost)


def portable(name: str) -> str:
    """A name that every log takes, another for each name: a path of letters, digits and a few marks, not too long."""
    path = _NOT_PORTABLE.sub(lambda found: "".join(f"_{ord(mark):x}_" for mark in found[0]), name)
    return path if len(path) <= LONGEST_NAME else f"{path[: LONGEST_NAME - 17]}-{short_fingerprint(path)}"


LONGEST_NAME = 250
_NOT_PORTABLE = re.compile(r"[^\w./ -]|^\.+|(?<=/)\.{1,2}(?=/|$)|^/|/(?=/|$)")


def artifacts_of(result: RunResult) -> Iterator[Path]:
    """The files worth keeping with the numbers, those that are there: an interrupted run may have none."""
    paths = (result.folder / name for name in ("leaderboard.json", "report.md"))
    return (path for path in paths if path.is_file())


def _scored(before: str, score: float | None, interval: ScoreInterval | None) -> Iterator[tuple[str, float]]:
    if score is not None:
        yield f"{before}score", score
    if interval is not None:
        yield f"{before}low", interval.low
        yield f"{before}high", interval.high


def _bounded(before: str, bounds: Bounds | None) -> dict[str, float]:
    """What the number would be had every failed attempt been wrong, or right."""
    return {} if bounds is None else {f"{before}bounds_low": bounds.low, f"{before}bounds_high": bounds.high}


def _costs(**costs: Cost | None) -> dict[str, float]:
    return {name: cost.amount for name, cost in costs.items() if cost is not None and cost.amount is not None}


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{before}{name}.")
        elif each is not None:
            yield f"{before}{name}", each
