"""Histories from runs: one line per model, in order, each run tested for a change of level when it arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.overall import overall_rows
from assay.results.diff.paired_columns import Side
from assay.results.history.changes import changes_between
from assay.results.history.history_types import History, HistoryRun, RunVerdict, Step
from assay.results.history.score_matrix import MOST_EARLIER, RunScores, ScoreMatrix, at_ends
from assay.results.report_settings import View
from assay.run_file import RunFile
from assay.stats.intervals import Floats
from assay.stats.level_shifts import (
    Shift,
    alarm_chances,
    basis,
    can_fall,
    fall,
    possible_starts,
    step_ends,
    window_levels,
)
from assay.text.numbers import percent

LINES = ("model", "prompt", "commit", "tag", "all")
FALL, RISE = 1.0, -1.0
"""A rise is a fall of the scores with the other sign."""
LEAST_COVERAGE = 0.9
"""A run that has a smaller share of the samples is not compared."""


OTHERWISE = "other questions, another scoring or another --repeat: compared from here on"
WOULD_CHANGE: dict[RunVerdict, str] = {
    "worse": "nothing that later runs show: they are compared with the new level",
    "better": "nothing that later runs show: they are compared with the new level",
    "nothing found": "more runs on the new level, if there is one: a smaller change shows in a longer window",
    "cannot tell": "more samples, or answers in place of the failed and remaining attempts",
}


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
    line: str = "model",
) -> list[History]:
    """One history for every set of tasks and every model that at least two runs have, the longest first.

    With `task`, the history of that task alone, over every run that has it. Runs are in order of time, or of `commits`
    where given: then runs without a known commit are left out. `line` is what the runs of a line have in common.
    """
    if line not in LINES:
        raise UsageError(f"--line-per {line}: must be {', '.join(LINES[:-1])} or {LINES[-1]}")
    chosen = [candidate for candidate in candidates if model is None or candidate.run.model["name"] == model]
    groups: dict[tuple[tuple[str, ...], str], list[HistorySource]] = {}
    for source in chosen:
        names = tuple(sorted(source.run.tasks))
        if task is None or task in names:
            groups.setdefault((names if task is None else (task,), _line_of(source.run, line)), []).append(source)
    if baseline is not None:
        groups = {key: runs for key, runs in groups.items() if any(run.name == baseline for run in runs)}
        if not groups:
            raise UsageError(f"--baseline {baseline}: no such run among these. Runs: {_few(chosen)}")
    every = [
        _history(list(names), name, runs, view, baseline, commits, only=task) for (names, name), runs in groups.items()
    ]
    return sorted((item for item in every if len(item.runs) > 1), key=lambda each: -len(each.runs))


def _line_of(run: RunFile, line: str) -> str:
    match line:
        case "model":
            return str(run.model["name"])
        case "prompt":
            return run.config.prompt or "the task's own prompt"
        case "commit":
            return run.commit or "no known commit"
        case "tag":
            return run.config.tag or "no tag"
    return ""


def _history(
    tasks: list[str],
    line: str,
    runs: Sequence[HistorySource],
    view: View,
    baseline: str | None,
    commits: Sequence[str] | None,
    *,
    only: str | None,
) -> History:
    ordered, notes = _in_order(runs, commits)
    order = "time" if commits is None else "commit"
    points: list[HistoryRun] = []
    metrics: dict[str, dict[str, None]] = {}
    epochs: list[_Epoch] = []
    before: tuple[RunFile, Leaderboard] | None = None
    for source in ordered:
        side = source.read()  # one run at a time is held
        point = _point(source, side, only)
        for row in _rows(side, only):
            metrics.setdefault(row.task, {})[row.metric_definition] = None
        if before is not None:
            point = replace(point, changes=changes_between(before[0], source.run, (before[1], side.board)))
        fits = bool(epochs) and epochs[-1].content == _content(source.run, side, epochs[-1].tasks)
        if not fits and point.coverage >= LEAST_COVERAGE and (tested := _tested(side, only)):
            if epochs:
                point = replace(point, reason=OTHERWISE)
            epochs.append(_Epoch(source.run, side, tested, view.level, pinned=baseline))
            fits = True
        points.append(epochs[-1].judge(point, side, source.run) if fits else _unfinished(point))
        before = (source.run, side.board)
    trend = {name: score for epoch in epochs for name, score in epoch.trend().items()}
    return History(
        tasks=tasks,
        line=line,
        level=view.level,
        order=order,
        baseline=baseline,
        metrics={task: " → ".join(definitions) for task, definitions in metrics.items()},
        runs=points,
        trend=[trend.get(point.run) for point in points],
        shared=epochs[-1].shared if epochs else 0,
        notes=[*notes, *_several_models(ordered)],
    )


def _several_models(runs: Sequence[HistorySource]) -> list[str]:
    models = {run.run.model["name"] for run in runs}
    return [f"These are runs of {len(models):,} models: a change of level may be that of the model"] * (len(models) > 1)


def _unfinished(point: HistoryRun) -> HistoryRun:
    if point.coverage >= LEAST_COVERAGE:
        return replace(point, verdict="not compared", reason="its samples have no number of their own")
    return replace(point, verdict="not compared", reason=_partial(point))


def _partial(point: HistoryRun) -> str:
    return f"only {percent(point.coverage)} of the samples were scored"


class _Epoch:
    """Runs with the same questions, scoring and attempts per sample: a mean of ten attempts has less noise than one.
    The spending of false alarms starts over with its first run.
    """

    def __init__(self, run: RunFile, first: Side, tasks: list[str], level: float, *, pinned: str | None) -> None:
        self.tasks = tasks
        self.content = _content(run, first, tasks)
        self._matrix = ScoreMatrix(first, tasks)
        self._names: list[str] = []
        self._scores: list[float | None] = []
        [lower] = {row.lower_is_better for row in first.board.tasks if row.task in tasks} or {False}
        self._sign = -1.0 if lower else 1.0
        """The matrix holds numbers of which more is better."""
        self._is_mean = all(first.measures[task].headline for task in tasks)
        self._alphas = dict(zip((FALL, RISE), alarm_chances(level), strict=True))
        self._level = level
        self._pinned = pinned
        self._begin = 0
        """The first column of the present level."""

    def judge(self, point: HistoryRun, side: Side, run: RunFile) -> HistoryRun:
        """What is said of the run, from it and earlier ones alone."""
        if point.coverage < LEAST_COVERAGE:
            return replace(point, verdict="not compared", reason=_partial(point))
        if self._pinned is not None and not self._names and point.run != self._pinned:
            return replace(point, verdict="not compared", reason="before the baseline")
        if unbounded := self._matrix.without_bounds(side):
            reason = f"failed or remaining attempts of {', '.join(unbounded)} could have had any value"
            return replace(point, verdict="not compared", reason=reason)
        repeats = {row.task: run.config.repeat_of(row.task) for row in side.board.tasks if row.remaining}
        self._matrix.columns.append(self._matrix.scores_of(side, repeats))
        self._names.append(point.run)
        self._scores.append(point.score)
        if len(self._names) == 1:
            return point
        windows = len(window_levels(1, len(self._names) - 1 - self._begin, 1.0))
        point = self._verdict(point, side)
        changed = self._pinned is not None and point.step is not None
        would_change = "another baseline" if changed else WOULD_CHANGE[point.verdict]
        return replace(point, basis=basis(self._level, windows, would_change))

    @property
    def shared(self) -> int:
        """How many samples all compared runs have."""
        return self._matrix.samples_in(self._matrix.shared())

    def trend(self) -> dict[str, float | None]:
        """By run, the score over the samples that all compared runs share."""
        scores = self._scores
        if self._is_mean and self.shared < self._matrix.samples:
            means = self._matrix.means_over(self._matrix.shared())
            scores = [None if mean is None else self._sign * mean for mean in means]
        return dict(zip(self._names, scores, strict=True))

    def _verdict(self, point: HistoryRun, side: Side) -> HistoryRun:
        last = len(self._names) - 1
        earlier = last - self._begin
        levels = {sign: window_levels(last, earlier, alpha) for sign, alpha in self._alphas.items()}
        point = self._with_difference(point)
        for sign, spent in levels.items():
            if (shift := self._shift(spent, sign, open_for=False)) is not None and shift.is_alarm:
                return self._changed(point, shift, sign, "worse" if sign == FALL else "better")
        for sign, spent in levels.items() if self._open() else ():
            if (shift := self._shift(spent, sign, open_for=True)) is not None and shift.is_alarm:
                open_attempts = f"{point.failed + point.remaining:,} failed or remaining attempts"
                return replace(point, verdict="cannot tell", reason=f"{open_attempts} here or before decide it")
        seen = np.column_stack([column.seen for column in self._columns(1)])
        if not can_fall(seen, levels[FALL], self._matrix.lost(side)):
            return replace(point, verdict="cannot tell", reason="not even the loss of everything would show yet")
        return replace(point, verdict="nothing found")

    def _open(self) -> bool:
        """Whether failed or remaining attempts leave anything open."""
        return any(not np.array_equal(column.low, column.high) for column in self._columns(1))

    def _columns(self, window: int) -> list[RunScores]:
        """The level's runs, or the pinned one, and the last `window` runs."""
        columns = self._matrix.columns
        earlier = columns[:1] if self._pinned is not None else columns[self._begin : -window][-MOST_EARLIER:]
        return [*earlier, *columns[-window:]]

    def _shift(self, levels: dict[int, float], sign: float, *, open_for: bool) -> Shift | None:
        """The most significant window, with what failed or remains speaking for a change, or against it."""
        found = []
        for window, level in levels.items():
            matrix = at_ends(self._columns(window), window, for_a_fall=open_for == (sign == FALL))
            shift = fall(matrix * sign, {window: level})
            found += [shift] if shift is not None else []
        return min(found, key=lambda shift: shift.p_value / shift.level, default=None)

    def _with_difference(self, point: HistoryRun) -> HistoryRun:
        matrix = np.column_stack([column.seen for column in self._columns(1)])
        difference, _, rows = _difference(matrix, 1, self._matrix.row_weights)
        compared = self._matrix.samples_in(rows)
        names = [self._names[0]] if self._pinned is not None else self._names[self._begin : -1]
        return replace(point, difference=difference, compared=compared, reference=names)

    def _changed(self, point: HistoryRun, shift: Shift, sign: float, verdict: RunVerdict) -> HistoryRun:
        matrix = np.column_stack([column.seen for column in self._columns(shift.window)])
        difference, error, _ = _difference(matrix, shift.window, self._matrix.row_weights)
        low, high = step_ends(difference or 0.0, error, self._level) or (None, None)
        # against a baseline the change may have begun long before the runs that show it
        shown = self._columns(shift.window) if self._pinned is None else self._matrix.columns
        names = self._names[self._begin :][-len(shown) :]
        since = [names[start] for start in possible_starts(np.column_stack([each.seen for each in shown]) * sign)]
        step = Step(
            window=shift.window,
            difference=difference or 0.0,
            low=low,
            high=high,
            since=since or [self._names[-shift.window]],
            p_value=shift.p_value,
            alarm_level=shift.level,
        )
        if self._pinned is None:
            self._begin = len(self._names) - shift.window
        return replace(point, verdict=verdict, step=step)


def _difference(matrix: Floats, window: int, weights: Floats) -> tuple[float | None, float, NDArray[np.bool_]]:
    """The mean over samples of how the last runs differ from the earlier ones, its standard error on these samples from
    their noise between runs, and the rows that have both.
    """
    have = ~np.isnan(matrix)
    after, before = have[:, -window:].sum(axis=1), have[:, :-window].sum(axis=1)
    both: NDArray[np.bool_] = (after > 0) & (before > 0)
    whole = float(weights[both].sum())
    if not whole:
        return None, 0.0, both
    rows = matrix[both]
    differences = np.nanmean(rows[:, -window:], axis=1) - np.nanmean(rows[:, :-window], axis=1)
    runs = after[both] + before[both]
    squares = np.nansum((rows[:, -window:] - np.nanmean(rows[:, -window:], axis=1)[:, None]) ** 2, axis=1)
    squares += np.nansum((rows[:, :-window] - np.nanmean(rows[:, :-window], axis=1)[:, None]) ** 2, axis=1)
    # what changed with the level is no noise; two runs say nothing about noise but their difference
    noise = np.where(runs > 2, squares / np.maximum(runs - 2, 1), differences**2 / 2.0)
    variance = float((noise * (1.0 / after[both] + 1.0 / before[both])).sum())
    return float(differences.sum()) / whole, float(np.sqrt(variance)) / whole, both


def _tested(side: Side, only: str | None) -> list[str]:
    """The tasks whose samples have numbers that count."""
    tasks = side.board.tasks
    rows = (
        overall_rows(tasks) if only is None and len(tasks) > 1 else [row for row in tasks if only in (None, row.task)]
    )
    return [row.task for row in rows if row.task in side.tasks and bool(side.tasks[row.task].scored.any())]


def _content(run: RunFile, side: Side, tasks: Sequence[str]) -> list[tuple[str, str, int]]:
    """What must stay the same for scores of the tasks to compare."""
    rows = {row.task: (row.sha256, row.scoring) for row in side.board.tasks}
    return [(*rows.get(task, ("", "")), run.config.repeat_of(task)) for task in tasks]


def _in_order(runs: Sequence[HistorySource], commits: Sequence[str] | None) -> tuple[list[HistorySource], list[str]]:
    by_time = sorted(runs, key=lambda each: (each.run.created, each.name))
    if commits is None:
        return by_time, []
    places = {commit: place for place, commit in enumerate(commits)}
    ordered = [item for item in by_time if item.run.commit in places]
    left_out = len(by_time) - len(ordered)
    notes = [f"{left_out:,} of {len(by_time):,} runs have no commit of this repository"] if left_out else []
    return sorted(ordered, key=lambda each: places[each.run.commit]), notes


def _rows(side: Side, only: str | None) -> list[TaskRow]:
    return [row for row in side.board.tasks if only is None or row.task == only]


def _point(source: HistorySource, side: Side, only: str | None) -> HistoryRun:
    board, rows = side.board, _rows(side, only)
    alone = rows[0] if len(rows) == 1 else None
    return HistoryRun(
        run=source.name,
        model=board.model_label,
        created=source.run.created,
        commit=source.run.commit,
        score=board.overall_score if alone is None else alone.score,
        interval=board.overall_interval if alone is None else alone.interval,
        scored=sum(row.scored for row in rows),
        failed=sum(row.failed + row.timeouts for row in rows),
        remaining=sum(row.remaining for row in rows),
        coverage=_coverage(source.run, side, rows),
        changes=[],
    )


def _coverage(run: RunFile, side: Side, rows: Sequence[TaskRow]) -> float:
    """Of the task with the least: the share of the samples of its data, whatever the run was limited to."""
    sizes = {definition.name: definition.dataset.size for definition in run.definitions}
    shares = []
    for row in rows:
        columns = side.tasks.get(row.task)
        size = sizes.get(row.task, 0)
        if columns is not None and size and len(columns):
            kept = size - row.excluded
            shares.append(len(np.unique(columns.samples[columns.in_score])) / max(1, kept))
    return min(shares, default=0.0)


def _few(runs: Sequence[HistorySource]) -> str:
    names = [run.name for run in runs]
    return ", ".join(names[:8]) + (f" and {len(names) - 8:,} more" if len(names) > 8 else "")
