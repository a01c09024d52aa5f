"""Histories from runs: grouped by their tasks, in order, each run tested against the baseline for a drop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from assay.core.errors import UsageError
from assay.core.run_file import RunFile
from assay.results.board.board_types import Leaderboard
from assay.results.diff.comparison import paired_diff
from assay.results.diff.differences import BoardDiff, OverallDiff
from assay.results.diff.paired_columns import Side
from assay.results.history.changes import changes_between
from assay.results.history.history_types import History, HistoryRun
from assay.results.report_settings import View
from assay.stats.paired import PairedComparison, holm


class HistorySource(NamedTuple):
    """A run that may be part of a history; it is read only when it is needed."""

    name: str
    run: RunFile
    read: Callable[[], Side]


def histories(
    candidates: Sequence[HistorySource],
    view: View,
    *,
    task: str | None = None,
    model: str | None = None,
    baseline: str | None = None,
    commits: Sequence[str] | None = None,
) -> list[History]:
    """One history for every set of tasks that at least two runs have, the longest first.

    With `task`, the history of that task alone, over every run that has it. Runs are in order of time, or of `commits`
    where given: then runs without a known commit are left out.
    """
    chosen = [each for each in candidates if model is None or each.run.model["name"] == model]
    groups: dict[tuple[str, ...], list[HistorySource]] = {}
    for each in chosen:
        names = tuple(sorted(each.run.tasks))
        if task is None:
            groups.setdefault(names, []).append(each)
        elif task in names:
            groups.setdefault((task,), []).append(each)
    if baseline is not None:
        groups = {names: runs for names, runs in groups.items() if any(each.name == baseline for each in runs)}
        if not groups:
            raise UsageError(f"--baseline {baseline}: no such run among these. Runs: {_few(chosen)}")
    every = [_history(list(names), runs, view, baseline, commits, only=task) for names, runs in groups.items()]
    return sorted((each for each in every if len(each.runs) > 1), key=lambda each: -len(each.runs))


def _history(
    tasks: list[str],
    runs: Sequence[HistorySource],
    view: View,
    baseline: str | None,
    commits: Sequence[str] | None,
    *,
    only: str | None,
) -> History:
    ordered, notes = _in_order(runs, commits)
    first = next((each for each in ordered if each.name == baseline), ordered[0] if ordered else None)
    empty = History(tasks=tasks, level=view.level, order="time", baseline="", comparisons=0, first_worse=None, runs=[])
    if first is None or len(ordered) < 2:
        return empty
    base = first.read()
    points, p_values = [], []
    before: tuple[RunFile, Leaderboard] | None = None
    for each in ordered:
        # one run at a time is held in addition to the baseline
        side = base if each is first else each.read()
        point = _point(each, side, only)
        if before is not None:
            point = replace(point, changes=changes_between(before[0], each.run, (before[1], side.board)))
        if each is not first:
            point, p = _against(paired_diff(base, side, view, samples=0), point, only)
            p_values.append(p)
        points.append(point)
        before = (each.run, side.board)
    return _judged(
        replace(empty, baseline=first.name, order="time" if commits is None else "commit", runs=points, notes=notes),
        p_values,
    )


def _in_order(runs: Sequence[HistorySource], commits: Sequence[str] | None) -> tuple[list[HistorySource], list[str]]:
    by_time = sorted(runs, key=lambda each: (each.run.created, each.name))
    if commits is None:
        return by_time, []
    places = {commit: place for place, commit in enumerate(commits)}
    ordered = [each for each in by_time if each.run.commit in places]
    left_out = len(by_time) - len(ordered)
    notes = [f"{left_out:,} of {len(by_time):,} runs have no commit of this repository"] if left_out else []
    return sorted(ordered, key=lambda each: places[each.run.commit]), notes


def _point(each: HistorySource, side: Side, only: str | None) -> HistoryRun:
    board = side.board
    rows = [row for row in board.tasks if only is None or row.task == only]
    alone = rows[0] if len(rows) == 1 else None
    return HistoryRun(
        run=each.name,
        model=board.model_label,
        created=each.run.created,
        commit=each.run.commit,
        score=board.overall_score if alone is None else alone.score,
        interval=board.overall_interval if alone is None else alone.interval,
        scored=sum(row.scored for row in rows),
        failed=sum(row.failed + row.timeouts for row in rows),
        changes=[],
    )


def _against(diff: BoardDiff, point: HistoryRun, only: str | None) -> tuple[HistoryRun, float | None]:
    """The run compared with the baseline, and the one-sided p-value of a drop, as `assay diff` tests it."""
    compared = [
        task.comparison for task in diff.tasks if task.comparison is not None and (only is None or task.task == only)
    ]
    point = replace(point, compared=sum(comparison.n for comparison in compared))
    headline: PairedComparison | OverallDiff | None = diff.overall if only is None else None
    if len(compared) == 1 and compared[0].n:
        headline = compared[0]
    if headline is None:
        return point, None
    return replace(point, difference=headline.difference, difference_interval=headline.interval), headline.p_drop


def _judged(history: History, p_values: Sequence[float | None]) -> History:
    """With Holm's correction over every comparison: among nine runs, one easily looks worse by chance."""
    known = [p for p in p_values if p is not None]
    adjusted = iter(holm(known))
    corrected = iter([None if p is None else next(adjusted) for p in p_values])
    runs = []
    for point in history.runs:
        p = None if point.run == history.baseline else next(corrected)
        runs.append(replace(point, adjusted_p=p, worse=p is not None and p < 1.0 - history.level))
    # a difference before the baseline is not a drop
    later = runs[[point.run for point in runs].index(history.baseline) + 1 :]
    first = next((point.run for point in later if point.worse), None)
    return replace(history, runs=runs, comparisons=len(known), first_worse=first)


def _few(runs: Sequence[HistorySource]) -> str:
    names = [each.name for each in runs]
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
