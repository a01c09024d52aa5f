"""The scores of a history's runs, as one matrix of samples × runs that grows run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.results.board.overall import factors_of
from assay.results.diff.ends import filled, is_unbounded
from assay.results.diff.paired_columns import Columns, Side
from assay.stats.intervals import Floats

MOST_EARLIER = 64
"""So many earlier runs are compared with; a level that long is known well enough."""


class RunScores(NamedTuple):
    """A run's number for each row: as scored, and at both ends of what failed and remaining attempts leave open."""

    seen: Floats
    """NaN where nothing was scored."""
    low: Floats
    high: Floats


class ScoreMatrix:
    """Rows are the samples (or clusters of them) of the first run, weighted so that the mean over rows is the score:
    each task counts with its weight.
    """

    def __init__(self, first: Side, tasks: Sequence[str]) -> None:
        self._tasks = list(tasks)
        self._samples: dict[str, NDArray[np.int64]] = {}
        codes, weights, self._rows = [], [], 0
        for task, factor in zip(self._tasks, factors_of([first.board], self._tasks), strict=True):
            columns = first.tasks[task].by_sample()
            self._samples[task] = columns.identities
            distinct, own = np.unique(columns.groups, return_inverse=True)
            codes.append(own + self._rows)
            weights.append(np.full(len(columns), factor / len(columns)))
            self._rows += len(distinct)
        self.samples = sum(map(len, weights))
        self._weights = np.concatenate(weights) * self.samples / len(self._tasks)
        self._codes = np.concatenate(codes)
        self.row_weights = np.bincount(self._codes, weights=self._weights, minlength=self._rows).astype(np.float64)
        """What each row counts in the score: a sample 1, a cluster as many as it holds."""
        self.columns: list[RunScores] = []

    def scores_of(self, side: Side, repeats: Mapping[str, int]) -> RunScores:
        """The numbers of a run, not yet part of the matrix; `repeats`: how often a sample of a task is to be tried."""
        worst, best = filled(side, right=False), filled(side, right=True)
        return RunScores(
            seen=self._values(side, None, {}),
            low=self._values(worst, 0, repeats),
            high=self._values(best, 1, repeats),
        )

    def without_bounds(self, side: Side) -> list[str]:
        """The tasks without a scale that the run did not score whole: what is open could have any value."""
        return [
            task
            for task in self._tasks
            if side.measures[task].upward_bounds is None
            and (is_unbounded(side, task) or np.isnan(self._of_task(side, task, None, 1)).any())
        ]

    def shared(self) -> NDArray[np.bool_]:
        """The rows that all runs have."""
        return np.asarray(~np.isnan(np.column_stack([column.seen for column in self.columns])).any(axis=1))

    def samples_in(self, rows: NDArray[np.bool_]) -> int:
        return int(rows[self._codes].sum())

    def means_over(self, rows: NDArray[np.bool_]) -> list[float | None]:
        """Each run's score over these rows."""
        weights = self.row_weights[rows].sum()
        return [float(column.seen[rows].sum() / weights) if weights else None for column in self.columns]

    def lost(self, side: Side) -> Floats:
        """What a run that lost everything would have."""
        ends = [side.measures[task].upward_bounds for task in self._tasks]
        known = np.nanmin(np.column_stack([column.low for column in self.columns]))
        sizes = [len(self._samples[task]) for task in self._tasks]
        lows = [np.full(size, known if end is None else end[0]) for size, end in zip(sizes, ends, strict=True)]
        weights = np.concatenate(lows) * self._weights
        lost: Floats = np.bincount(self._codes, weights=weights, minlength=self._rows).astype(np.float64)
        return lost

    def _values(self, side: Side, end: int | None, repeats: Mapping[str, int]) -> Floats:
        parts = [self._of_task(side, task, end, repeats.get(task, 1)) for task in self._tasks]
        values = np.concatenate(parts) * self._weights
        known = ~np.isnan(values)
        counts = np.bincount(self._codes[known], minlength=self._rows)
        sums = np.bincount(self._codes[known], weights=values[known], minlength=self._rows)
        sizes = np.bincount(self._codes, minlength=self._rows)
        # a cluster that lacks some of its samples counts with those that it has
        means: Floats = np.divide(sums * sizes, counts, out=np.full(self._rows, np.nan), where=counts > 0)
        return means

    def _of_task(self, side: Side, task: str, end: int | None, repeat: int) -> Floats:
        """The numbers of the task's samples; what is missing is NaN, or lies at an end of the scale."""
        values, open_share = np.full(len(self._samples[task]), np.nan), np.ones(len(self._samples[task]))
        columns: Columns | None = side.tasks.get(task)
        if columns is not None:
            own = columns.by_sample()
            _, here, there = np.intersect1d(
                self._samples[task], own.identities, assume_unique=True, return_indices=True
            )
            values[here] = own.scores[there]
            open_share[here] = np.maximum(0.0, 1.0 - columns.attempts_per_sample()[there] / repeat)
        bounds = side.measures[task].upward_bounds if task in side.measures else None
        if end is None or bounds is None:
            return values
        known = np.where(np.isnan(values), bounds[end], values)
        return np.asarray(known + open_share * (bounds[end] - known))


def at_ends(columns: Sequence[RunScores], window: int, *, for_a_fall: bool) -> Floats:
    """The matrix in which open attempts speak for a fall in the last runs, or against it."""
    earlier, last = columns[:-window], columns[-window:]
    reference = [column.high if for_a_fall else column.low for column in earlier]
    return np.column_stack([*reference, *(column.low if for_a_fall else column.high for column in last)])
