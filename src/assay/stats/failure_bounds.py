"""Bounds: what an aggregate would be if every failed or remaining attempt had been wrong, and if every one were right.

Only numbers that never fall as an attempt's score rises have them: then every other outcome of these attempts lies
between. A spread, a consistency or a ratio of counts has none, nor has a value whose range is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from assay.core.describe import About, Mean, Range, Value, Whole
from assay.core.types import Bounds, ScoreValue, Summary
from assay.stats.intervals import Floats
from assay.stats.score_table import ScoreTable

SummariesOf = Callable[[ScoreTable], Sequence[Summary]]


def with_bounds(
    summaries: Sequence[Summary], aggregate: SummariesOf, table: ScoreTable, about: About | None
) -> list[Summary]:
    """The summaries that an aggregate returned for a table, each with its bounds where it has any."""
    ends = _ends(table, about)
    if ends is None:
        return list(summaries)
    (wrong, worst), (right, best) = ends
    low, high = ({item.name: item for item in aggregate(filled)} for filled in (worst, best))
    return [
        replace(summary, bounds=_bounds(low.get(summary.name), high.get(summary.name), (wrong, right)))
        if summary.value is not None and _rises(about, summary.name)
        else summary
        for summary in summaries
    ]


def whole_bounds(summary: Summary, table: ScoreTable, about: About | None, left_out: int) -> Range | None:
    """The ends of a mean over all samples of a task, of which so many attempts were left out; None when unknown."""
    value, bounds, unknown = summary.value, summary.bounds, summary.failed + summary.timeouts + table.remaining
    marks = _marks(table, about) if isinstance(about, Mean) else None
    if value is None or marks is None or (bounds is None and unknown):
        return None
    planned = summary.scored + unknown
    low, high = (value, value) if bounds is None else (bounds.low, bounds.high)
    (wrong, _), (right, _) = marks
    whole = planned + left_out
    return (low * planned + wrong * left_out) / whole, (high * planned + right * left_out) / whole


def holds_all(within: Range, values: Floats) -> bool:
    """Whether every value lies in the range."""
    return not len(values) or bool(within[0] <= values.min() and values.max() <= within[1])


Mark = tuple[float, dict[str, ScoreValue]]
"""The number of an attempt, and the values that give it."""


def _ends(table: ScoreTable, about: About | None) -> tuple[tuple[float, ScoreTable], tuple[float, ScoreTable]] | None:
    """The score of a wrong and of a right attempt, each with the table if all open attempts had been such."""
    marks = _marks(table, about) if table.failed + table.timeouts + table.remaining else None
    if marks is None:
        return None
    worst, best = (table.with_open_as(values) for _, values in marks)
    return None if worst is None or best is None else ((marks[0][0], worst), (marks[1][0], best))


def _marks(table: ScoreTable, about: About | None) -> tuple[Mark, Mark] | None:
    """A wrong and a right attempt; None when unknown."""
    match about:
        case Mean(same_as=(truth, prediction), answers=answers):
            positive, negative = answers if len(answers) == 2 else ("positive", "negative")
            return (0.0, {truth: positive, prediction: negative}), (1.0, {truth: positive, prediction: positive})
        case Mean(value=value, weights=dict() as weights, other=other):
            others = [] if other is None else [(other, f"not {' or '.join(weights)}")]
            marks = sorted([*((weight, label) for label, weight in weights.items()), *others])
            return (marks[0][0], {value.name: marks[0][1]}), (marks[-1][0], {value.name: marks[-1][1]})
        case Mean(value=Value(name=name, range=within)) | Whole(rises_with=Value(name=name, range=within)):
            low, high = within or table.range_of(name) or (0.0, 0.0)
            if low < high and holds_all((low, high), table.numbers(name).values):
                return (low, {name: low}), (high, {name: high})
    return None


def _rises(about: About | None, name: str) -> bool:
    return not isinstance(about, Mean) or any(fnmatchcase(name, pattern) for pattern in about.rising)


def _bounds(low: Summary | None, high: Summary | None, marks: Range) -> Bounds | None:
    if low is None or high is None or low.value is None or high.value is None:
        return None
    return Bounds(
        low=low.value,
        high=high.value,
        low_interval=_interval(low),
        high_interval=_interval(high),
        wrong=marks[0],
        right=marks[1],
    )


def _interval(summary: Summary) -> Range | None:
    return None if summary.low is None or summary.high is None else (summary.low, summary.high)
