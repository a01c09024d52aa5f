"""Failure bounds: what an aggregate would be if every failed attempt had been wrong, and if every one had been right.

Only numbers that never fall as an attempt's score rises have them: then every other outcome of the failed attempts lies
between. A spread, a consistency or a ratio of counts has none, nor has a value whose range is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from assay.core.types import Bounds, ScoreValue, Summary
from assay.stats.intervals import Floats
from assay.stats.score_table import ScoreTable, as_text

SHARES = (
    "score",
    "is_correct",
    "passed",
    "bleu_score",
    "all_required_calls_made",
    "required_calls_coverage",
    *("precision", "recall", "f1_score", "claim_recall", "context_precision", "context_utilization"),
    *("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination"),
    *("self_knowledge", "faithfulness"),
)
"""Values of our own scorers that lie in [0, 1]."""
CLASSIFICATIONS = ("binary-classification", "multiclass-classification")
RISING = ("mean", "max", "min", "weighted_average", "frequency", "repetitions", *CLASSIFICATIONS)
"""Aggregates that never fall as an attempt's score rises; of classifications only the accuracy."""
NOT_RISING = ("consistency", "flip_rate")
"""Numbers of `repetitions` that measure agreement rather than right answers."""

Range = tuple[float, float]
SummariesOf = Callable[[ScoreTable], Sequence[Summary]]


def with_bounds(
    summaries: Sequence[Summary], aggregate: SummariesOf, table: ScoreTable, use: str, options: Mapping[str, Any]
) -> list[Summary]:
    """The summaries that an aggregate returned for a table, each with its bounds where it has any."""
    ends = _ends(table, use, options)
    if ends is None:
        return list(summaries)
    (wrong, worst), (right, best) = ends
    low, high = ({each.name: each for each in aggregate(filled)} for filled in (worst, best))
    return [
        replace(each, bounds=_bounds(low.get(each.name), high.get(each.name), (wrong, right)))
        if each.value is not None and _rises(use, each.name)
        else each
        for each in summaries
    ]


def range_of(field: str, declared: Sequence[float] | None) -> Range | None:
    """The smallest and largest possible value, from the aggregate's `bounds` or the field's name; None when unknown."""
    if declared is not None:
        return float(declared[0]), float(declared[1])
    return (0.0, 1.0) if field in SHARES else None


def holds_all(within: Range, values: Floats) -> bool:
    """Whether every value lies in the range: a user's scorer may use the name for another one."""
    return not len(values) or bool(within[0] <= values.min() and values.max() <= within[1])


def _ends(
    table: ScoreTable, use: str, options: Mapping[str, Any]
) -> tuple[tuple[float, ScoreTable], tuple[float, ScoreTable]] | None:
    """The score of a wrong and of a right attempt, each with the table if all failed attempts had been such."""
    if use not in RISING or not table.failed + table.timeouts:
        return None
    marks = _marks(table, use, options)
    if marks is None:
        return None
    worst, best = (table.with_failed_as(values) for _, values in marks)
    return None if worst is None or best is None else ((marks[0][0], worst), (marks[1][0], best))


def _marks(table: ScoreTable, use: str, options: Mapping[str, Any]) -> list[tuple[float, dict[str, ScoreValue]]] | None:
    """The score of a wrong and of a right attempt, each with the values that give it; None when unknown."""
    field = str(options.get("field", "score"))
    if use in CLASSIFICATIONS:
        truth, prediction = options["field_gt"], options["field_pred"]
        positive, negative = (options.get(name, name) for name in ("positive_answer", "negative_answer"))
        return [(0.0, {truth: positive, prediction: negative}), (1.0, {truth: positive, prediction: positive})]
    if use == "frequency":
        label = options.get("label")
        return None if label is None else [(0.0, {field: f"not {label}"}), (1.0, {field: label})]
    if use == "weighted_average":
        weights = sorted((float(weight), as_text(label)) for label, weight in options["weights"].items())
        return [(weight, {field: label}) for weight, label in (weights[0], weights[-1])]
    within = range_of(field, options.get("bounds"))
    if within is None or not holds_all(within, table.numbers(field).values):
        return None
    return [(value, {field: value}) for value in within]


def _rises(use: str, name: str) -> bool:
    return name == "accuracy" if use in CLASSIFICATIONS else name not in NOT_RISING


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
