"""The score of a task while it runs: attempts add to it one by one, and its interval is the leaderboard's."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

from assay.core.journal import counting_lines
from assay.core.types import Record
from assay.results.board.journal_table import AttemptLine
from assay.results.measure import Measure, values_by
from assay.results.report_settings import View, metadata_value
from assay.text.numbers import interval as interval_text
from assay.text.numbers import number

ENOUGH_MORE = 1.02
"""An interval is computed again when there are so many times as many numbers: late in a long run that is seldom."""


def earlier_attempts(journal: Path) -> Iterator[AttemptLine]:
    """What earlier sessions of a run have finished; what failed is retried."""
    return (line for _, line in counting_lines(journal, AttemptLine) if not line.failures)


class RunningScore:
    """Counts and numbers of one task so far."""

    def __init__(self, measure: Measure, view: View) -> None:
        self._measure = measure
        self._view = view
        self.made = self.failed = 0
        self._numbers = array("d")
        self._clusters = array("q")
        self._groups: dict[str, int] = {}
        self._yes_or_no = measure.bounds is None and measure.column is not None
        """Whether all values so far are true or false, which are a share by their type."""
        self._clustered = False
        """Whether any two numbers may belong together: repeated attempts, samples with a group."""
        self._interval, self._interval_of = "", 0

    def add(self, attempt: Record | AttemptLine) -> None:
        self.made += 1
        self.failed += bool(attempt.failures)
        number = self._measure.of(attempt)
        if number is None:
            return
        if self._yes_or_no:
            value = values_by(self._measure.scorer, attempt.scores).get(str(self._measure.column))
            self._yes_or_no = isinstance(value, bool)
        group = metadata_value(attempt.metadata, self._view.group_by)
        self._clustered = self._clustered or attempt.attempt > 1 or group is not None
        code = attempt.index if group is None else -1 - self._groups.setdefault(group, len(self._groups))
        self._clusters.append(code)
        self._numbers.append(number)

    @property
    def score(self) -> str:
        """The mean so far; nothing where nothing was scored."""
        return number(sum(self._numbers) / len(self._numbers)) if self._numbers else ""

    @property
    def interval(self) -> str:
        """Of the mean so far; nothing where the numbers are too few for one."""
        count = len(self._numbers)
        if count and (count <= 100 or count >= self._interval_of * ENOUGH_MORE) and count != self._interval_of:
            self._interval, self._interval_of = self._interval_now(count), count
        return self._interval

    def _interval_now(self, count: int) -> str:
        import numpy as np

        numbers, clusters = np.array(self._numbers[:count]), np.array(self._clusters[:count])
        measure = self._measure.on((0.0, 1.0) if self._yes_or_no else None)
        interval = measure.interval(numbers, clusters if self._clustered else None, self._view.level)
        return "" if interval.low is None or interval.high is None else f"({interval_text(interval)})"
