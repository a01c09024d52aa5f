"""What every log gets of a run, under the same names: its settings when it begins, its numbers when it ends."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.reports.board.types import Leaderboard, ScoreInterval
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
    run = start.run
    tasks = {
        each.name: {"sha256": each.dataset.sha256, "fingerprint": run.tasks[each.name]} for each in run.definitions
    }
    whole = {
        "fingerprint": run.fingerprint,
        "model": run.model,
        "settings": run.settings,
        "task": tasks,
        "versions": run.versions,
        "attempts": start.total,
    }
    return dict(_flat(whole))


def metrics_of(board: Leaderboard) -> dict[str, float]:
    """Numbers only: what has no value is not there, and a failure is counted as one."""
    metrics = dict(_scored("overall_", board.overall_score, board.overall_interval))
    metrics |= {"failed": board.failed, "timeouts": board.timeouts}
    for name, cost in (("cost", board.cost), ("judge_cost", board.judge_cost)):
        if cost is not None and cost.amount is not None:
            metrics[name] = cost.amount
    for row in board.tasks:
        metrics.update(_scored(f"{row.task}/", row.score, row.interval))
        counts: dict[str, float] = {
            "failed": row.failed,
            "timeouts": row.timeouts,
            "scored": row.scored,
            "total": row.total,
        }
        counts |= {"latency_ms": row.latency_ms, "tokens_in": row.tokens_in, "tokens_out": row.tokens_out}
        if row.cost is not None and row.cost.amount is not None:
            counts["cost"] = row.cost.amount
        metrics |= {f"{row.task}/{name}": value for name, value in counts.items()}
    return metrics


def portable(name: str) -> str:
    """A name that every log takes: letters, digits and a few marks, not too long."""
    return _NOT_PORTABLE.sub("_", name)[:250]


_NOT_PORTABLE = re.compile(r"[^\w./ -]", re.ASCII)


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


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, each in value.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{before}{name}.")
        elif each is not None:
            yield f"{before}{name}", each
