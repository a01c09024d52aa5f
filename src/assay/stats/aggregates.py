"""The aggregates: the scores of many samples become leaderboard cells, each with its uncertainty and its
definition.

All share one shape, `aggregate(table, *, options…, level=0.95, seed=0) -> list[Summary]`, and one promise:
where nothing was scored, or a denominator is empty, the value is None with a reason; it is never 0 and never
NaN.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from assay.core.types import Summary
from assay.stats.intervals import (
    Floats,
    Interval,
    clustered_mean_interval,
    clustered_wilson,
    is_binary,
    mean_interval,
    wilson,
)
from assay.stats.score_table import Labels, Numbers, ScoreTable


def mean(
    table: ScoreTable,
    *,
    field: str = "score",
    name: str | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The mean of a value over attempts; of true and false, the share of true.

    Interval: Wilson for right/wrong answers, Student's t for other values, their clustered forms as soon as
    two rows share a sample or a group. `bounds` is the range the value can take, when the interval should
    respect it.
    """
    del seed  # closed form; the parameter is part of the common shape
    numbers = table.numbers(field)
    output = name or f"{field}_mean"
    if not len(numbers):
        return [_nothing(output, "mean", numbers, table)]
    interval = interval_of_mean(numbers.values, numbers.clusters if numbers.clustered else None, level)
    if bounds is not None:
        interval = interval.clipped(*bounds)
    return [_summary(output, "mean", float(numbers.values.mean()), interval, rows=numbers, table=table)]


def interval_of_mean(values: Floats, clusters: ArrayLike | None, level: float) -> Interval:
    """The interval that fits the values: Wilson or t, plain or clustered."""
    if clusters is not None:
        return (clustered_wilson if is_binary(values) else clustered_mean_interval)(values, clusters, level)
    if is_binary(values):
        return wilson(int(values.sum()), len(values), level)
    return mean_interval(values, level)


def _summary(
    name: str,
    definition: str,
    value: float,
    interval: Interval | None,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    **details: Any,
) -> Summary:
    if interval is not None and interval.reason is not None:
        details["no_interval"] = interval.reason
    if interval is not None and interval.standard_error is not None:
        details["standard_error"] = interval.standard_error
    if rows.clustered:
        details["clusters"] = int(rows.clusters.max()) + 1
    if table.excluded:
        details["excluded"] = table.excluded
    return Summary(
        name=name,
        value=value,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        scored=len(rows),
        unscored=rows.unscored,
        failed=table.failed,
        timeouts=table.timeouts,
        signature=interval.signature(definition) if interval else definition,
        details=details or None,
    )


def _nothing(
    name: str, definition: str, rows: Numbers | Labels, table: ScoreTable, reason: str | None = None
) -> Summary:
    return Summary(
        name=name,
        value=None,
        scored=len(rows),
        unscored=rows.unscored,
        failed=table.failed,
        timeouts=table.timeouts,
        signature=definition,
        reason=reason or rows.reason or "nothing was scored",
        details={"excluded": table.excluded} if table.excluded else None,
    )
