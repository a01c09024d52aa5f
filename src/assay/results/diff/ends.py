"""Two results at both extremes of what their failed attempts could have scored, for gates on a difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from assay.core.describe import Range
from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import DiffEnds
from assay.results.diff.paired_columns import Columns, Side, read_side
from assay.results.report_settings import View
from assay.stats.failure_bounds import holds_all


def diff_ends(a: Path | str, b: Path | str, view: View) -> DiffEnds:
    """Compare run folders or leaderboard files, as far as they compare."""
    return diff_ends_of(read_side(a, view), read_side(b, view), view)


def diff_ends_of(a: Side, b: Side, view: View) -> DiffEnds:
    """The same, of two results that have been read."""
    unbounded = sorted({name for side in (a, b) for name in side.tasks if is_unbounded(side, name)})
    a, b = (_without(side, unbounded) for side in (a, b))
    worst, best = (
        paired_diff(filled(a, right=against), filled(b, right=not against), view, samples=0)
        for against in (True, False)
    )
    failed_baseline, failed = (sum(_failed(side, name) for name in side.tasks) for side in (a, b))
    return DiffEnds(worst=worst, best=best, failed_baseline=failed_baseline, failed=failed, unbounded=unbounded)


def is_unbounded(side: Side, task: str) -> bool:
    """Whether attempts of the task failed that could have scored anything."""
    return _failed(side, task) > 0 and _range(side, task) is None


def _failed(side: Side, task: str) -> int:
    return int(side.tasks[task].failed.sum())


def _range(side: Side, task: str) -> Range | None:
    """The lowest and highest score of an attempt; None when unknown, or where attempts have no number of their own."""
    bounds, columns = side.measures[task].upward_bounds, side.tasks[task]
    scores = columns.scores[columns.scored]
    if not len(scores) and not columns.failed.all():
        return None
    return bounds if bounds is not None and holds_all(bounds, scores) else None


def _without(side: Side, tasks: list[str]) -> Side:
    rows = [row for row in side.board.tasks if row.task not in tasks]
    columns = {name: each for name, each in side.tasks.items() if name not in tasks}
    return replace(side, board=msgspec.structs.replace(side.board, tasks=rows), tasks=columns)


def filled(side: Side, *, right: bool) -> Side:
    """The result if every failed attempt had been right, or wrong."""
    return replace(side, tasks={name: _scored(side, name, each, right=right) for name, each in side.tasks.items()})


def _scored(side: Side, task: str, columns: Columns, *, right: bool) -> Columns:
    bounds = _range(side, task)
    if bounds is None or not columns.failed.any():
        return columns
    return replace(columns, scores=np.where(columns.failed, bounds[right], columns.scores))
