"""Leaderboard cells: a number with the interval that fits it, and over how many samples; or none, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.core.types import Summary
from assay.stats.bootstrap import SumStatistic, bootstrap_sums
from assay.stats.intervals import (
    Codes,
    Floats,
    Interval,
    clustered_mean_interval,
    clustered_wilson,
    is_binary,
    mean_interval,
    wilson,
)
from assay.stats.score_table import Labels, Numbers, ScoreTable

Mask = NDArray[np.bool_]


def cell(
    name: str,
    definition: str,
    value: float,
    interval: Interval | None,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    **details: Any,
) -> Summary:
    """A number with its interval, over these rows of the table."""
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


def empty_cell(
    name: str, definition: str, rows: Numbers | Labels, table: ScoreTable, reason: str | None = None
) -> Summary:
    """No number, and why."""
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


def interval_of_mean(values: Floats, clusters: ArrayLike | None, level: float) -> Interval:
    """The interval that fits the values: Wilson or t, plain or clustered."""
    if clusters is not None:
        return (clustered_wilson if is_binary(values) else clustered_mean_interval)(values, clusters, level)
    if is_binary(values):
        return wilson(int(values.sum()), len(values), level)
    return mean_interval(values, level)


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
    """The share of right ones among some rows, Wilson or clustered; `empty` says why when there are none."""
    if not among.any():
        return empty_cell(name, definition, rows, table, empty)
    values = right[among].astype(np.float64)
    interval = interval_of_mean(values, rows.clusters[among] if rows.clustered else None, level)
    value = float(values.mean())
    return cell(name, definition, value, interval, rows=rows, table=table, **(details or {}))


def ratio_of_counts(
    name: str,
    definition: str,
    counts: Floats,
    statistic: SumStatistic,
    empty: str,
    *,
    rows: Numbers | Labels,
    table: ScoreTable,
    level: float,
    seed: int,
    resamples: int,
) -> Summary:
    """A statistic of counts that are summed over the samples first, with a bootstrap interval."""
    if not len(rows):
        return empty_cell(name, definition, rows, table)
    if (counts < 0).any():
        return empty_cell(name, definition, rows, table, "a count is negative")
    value = float(statistic(counts.sum(axis=0)[None, :])[0])
    if not np.isfinite(value):
        return empty_cell(name, definition, rows, table, empty)
    interval = bootstrap_sums(counts, statistic, groups=groups_of(rows), level=level, resamples=resamples, seed=seed)
    if interval.low is None and value in (0.0, 1.0):
        # no resample can differ where nothing went wrong, or nothing right; as many samples, all alike, still can
        units = int(rows.clusters.max()) + 1
        interval = replace(wilson(value * units, units, level), method="wilson-of-samples")
    return cell(name, definition, value, interval, rows=rows, table=table)


def groups_of(rows: Numbers | Labels) -> Codes | None:
    """Which rows belong together, where any do."""
    return rows.clusters if rows.clustered else None
