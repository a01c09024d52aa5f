"""Leaderboard cells: a number with the interval that fits it and its counts of samples, or the reason for none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.core.describe import Range
from assay.core.types import Summary
from assay.part_options import Doc, InFiles, ValueName
from assay.stats.bootstrap import SumStatistic, bootstrap_sums
from assay.stats.guarded import METHOD, SKEWED, graded_interval, skewed_t
from assay.stats.intervals import (
    Codes,
    Floats,
    Interval,
    cluster_codes,
    clustered_wilson,
    is_binary,
    no_interval,
    ratio_interval,
    too_few,
    wilson,
)
from assay.stats.score_table import Labels, Numbers, ScoreTable

Mask = NDArray[np.bool_]
ReadValue = Annotated[str, Meta(min_length=1), ValueName("The score value it reads."), InFiles()]
"""The option of an aggregate that names what it reads."""
ReadNumber = Annotated[str, Meta(min_length=1), ValueName("The score value it reads.", numeric=True), InFiles()]
"""The same where only numbers can be read."""
OutputName = Annotated[str | None, Doc("What the number is called.")]
ValueBounds = Annotated[
    Sequence[float] | None,
    Meta(min_length=2, max_length=2),
    Doc("The lowest and the highest value possible: `[0, 1]` for a share."),
]
TOO_LARGE = "its numbers are too large to be added up"
UNIT = (0.0, 1.0)
"""The scale of a share and of most scores."""


def cell(
    name: str,
    definition: str,
    value: float,
    interval: Interval,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    **details: Any,
) -> Summary:
    """A number with its interval, over these rows of the table."""
    if not math.isfinite(value):
        return empty_cell(name, definition, rows, table, TOO_LARGE)
    if interval.reason is not None:
        details["no_interval"] = interval.reason
    if interval.standard_error is not None:
        details["standard_error"] = interval.standard_error
    if rows.clustered:
        details["clusters"] = int(rows.clusters.max()) + 1
    if table.excluded:
        details["excluded"] = table.excluded
    return Summary(
        name=name,
        value=value,
        low=interval.low,
        high=interval.high,
        scored=len(rows),
        unscored=rows.unscored,
        failed=table.failed,
        timeouts=table.timeouts,
        signature=interval.signature(definition),
        details=details or None,
    )


def empty_cell(
    name: str, definition: str, rows: Numbers | Labels, table: ScoreTable, reason: str | None = None
) -> Summary:
    """A cell without a number, and the reason."""
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


def interval_of_mean(
    values: Floats, clusters: ArrayLike | None, level: float, bounds: Sequence[float] | None = None
) -> Interval:
    """The interval that fits what the values are: Wilson for right/wrong answers, a t guarded against what was not seen
    for scores on a scale with two ends, a skew-corrected t for everything else; clustered where rows belong together.

    `bounds` are the ends of the scale as the scorer or the task says. Without them there is no scale, whatever the
    values are: a count that is 1 in every sample is no share. An infinite end marks an open-ended value.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        interval = _interval_of_mean(values, clusters, level, None if bounds is None else _as_range(bounds))
    ends = [end for end in (interval.low, interval.high) if end is not None]
    if all(map(math.isfinite, ends)):
        return interval
    return no_interval(interval.method, level, TOO_LARGE)


def _as_range(bounds: Sequence[float]) -> Range:
    return float(bounds[0]), float(bounds[1])


def _interval_of_mean(values: Floats, clusters: ArrayLike | None, level: float, bounds: Range | None) -> Interval:
    if bounds == UNIT and is_binary(values):
        if clusters is None:
            return wilson(float(values.sum()), len(values), level)
        return clustered_wilson(values, clusters, level)
    on_scale = bounds is not None and _is_scale(values, bounds)
    method = ("" if clusters is None else "clustered-") + (METHOD if on_scale else SKEWED)
    units = len(values) if clusters is None else cluster_codes(clusters, len(values))[1]
    if units < 2:
        return too_few(method, level, units, "value" if clusters is None else "cluster")
    if bounds is None:
        return replace(skewed_t(values, clusters).interval(level), method=method)
    if not on_scale:
        return replace(skewed_t(values, clusters).interval(level).clipped(*bounds), method=method)
    return replace(graded_interval(values, clusters, level, bounds), method=method)


def _is_scale(values: Floats, bounds: tuple[float, float]) -> bool:
    low, high = bounds
    inside = not len(values) or (values.min() >= low and values.max() <= high)
    return bool(inside and -math.inf < low < high < math.inf)


def mean_of(values: Floats) -> float:
    """Infinite where their sum is beyond what a number can hold."""
    with np.errstate(over="ignore"):
        return float(values.mean())


def share_of(name: str, definition: str, right: Mask, *, rows: Labels, table: ScoreTable, level: float) -> Summary:
    """The share of right ones among all rows."""
    everything = np.ones(len(rows), dtype=bool)
    return share_among(name, definition, right, everything, "", rows=rows, table=table, level=level)


def share_among(
    name: str,
    definition: str,
    right: Mask,
    among: Mask,
    empty: str,
    *,
    rows: Labels,
    table: ScoreTable,
    level: float,
    details: Mapping[str, Any] | None = None,
) -> Summary:
    """The share of right ones among some rows, Wilson or clustered; `empty` is the reason when there are none."""
    if not among.any():
        return empty_cell(name, definition, rows, table, empty)
    values = right[among].astype(np.float64)
    interval = interval_of_mean(values, rows.clusters[among] if rows.clustered else None, level, UNIT)
    return cell(name, definition, float(values.mean()), interval, rows=rows, table=table, **(details or {}))


def share_of_counts(
    name: str,
    definition: str,
    parts: Floats,
    wholes: Floats,
    empty: str,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    level: float,
    f1: bool = False,
) -> Summary:
    """Counts summed over the samples before dividing; `f1` turns J, the share of true positives among all true or
    predicted ones, and its bounds into F1 = 2J / (1 + J).
    """
    if not len(rows):
        return empty_cell(name, definition, rows, table)
    if (parts < 0).any() or (wholes < parts).any():
        return empty_cell(name, definition, rows, table, "a count is negative")
    if not wholes.sum() > 0.0:
        return empty_cell(name, definition, rows, table, empty)
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(parts.sum() / wholes.sum())
    if not math.isfinite(value):
        return empty_cell(name, definition, rows, table, TOO_LARGE)
    interval = ratio_interval(parts, wholes, groups_of(rows), level)
    if f1:
        interval = _of_f1(interval, value)
        value = _f1_of(value)
    return cell(name, definition, value, interval, rows=rows, table=table)


def _of_f1(interval: Interval, share: float) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    # F1 rises with the share, so its bounds are those of the share
    error = None if interval.standard_error is None else interval.standard_error * 2.0 / (1.0 + share) ** 2
    return replace(interval, low=_f1_of(interval.low), high=_f1_of(interval.high), standard_error=error)


def _f1_of(share: float) -> float:
    return 2.0 * share / (1.0 + share)


def ratio_of_sums(
    name: str,
    definition: str,
    sums: Floats,
    statistic: SumStatistic,
    empty: str,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    level: float,
    seed: int,
    resamples: int,
) -> Summary:
    """A statistic of sums over the samples, with a bootstrap interval."""
    if not len(rows):
        return empty_cell(name, definition, rows, table)
    with np.errstate(over="ignore"):
        value = float(statistic(sums.sum(axis=0)[None, :])[0])
    if not math.isfinite(value):
        return empty_cell(name, definition, rows, table, empty if math.isnan(value) else TOO_LARGE)
    interval = bootstrap_sums(sums, statistic, groups=groups_of(rows), level=level, resamples=resamples, seed=seed)
    return cell(name, definition, value, interval, rows=rows, table=table)


def groups_of(rows: Numbers | Labels) -> Codes | None:
    """The cluster of each row; None when every row is independent."""
    return rows.clusters if rows.clustered else None
