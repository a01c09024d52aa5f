"""The aggregates: the scores of many samples become leaderboard cells, each with its uncertainty and its definition.

All have one signature, `aggregate(table, *, options…, level=0.95) -> list[Summary]`. Where nothing was scored, or a
denominator is empty, the value is None with a reason, never 0 or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from assay.core.describe import Range, describes
from assay.core.types import Summary
from assay.part_options import Doc, Problem, part
from assay.stats.cells import (
    TOO_LARGE,
    UNIT,
    OutputName,
    ReadNumber,
    ReadValue,
    ValueBounds,
    cell,
    empty_cell,
    groups_of,
    interval_of_mean,
    mean_of,
    share_of,
)
from assay.stats.described import of_extreme, of_frequency, of_mean, of_median, of_quantile, of_spread, of_weights
from assay.stats.extremes import largest_interval, smallest_interval
from assay.stats.failure_bounds import holds_all
from assay.stats.sample_quantiles import quantile_interval
from assay.stats.score_table import Numbers, ScoreTable, as_text
from assay.stats.spread import spread_interval


@describes(of_mean)
@part("The mean of a score value.", example="field: score")
def mean(
    table: ScoreTable,
    *,
    field: ReadNumber = "score",
    name: OutputName = None,
    bounds: ValueBounds = None,
    level: float = 0.95,
) -> list[Summary]:
    """The mean of a value over attempts; of true and false, the share of true.

    Interval: Wilson for right/wrong answers, a t that reckons with an unseen score at either end for scores on a scale,
    one corrected for skewness for values without; their clustered forms as soon as two rows share a sample or a group.
    `bounds` is the range that the value can take; without it, the one that its scorer describes.
    """
    numbers = table.numbers(field)
    output = name or f"{field}_mean"
    if not len(numbers):
        return [empty_cell(output, "mean", numbers, table)]
    interval = interval_of_mean(numbers.values, groups_of(numbers), level, bounds or table.range_of(field))
    return [cell(output, "mean", mean_of(numbers.values), interval, rows=numbers, table=table)]


@describes(of_extreme)
@part("The maximum of a score value.", example="field: score")
def maximum(
    table: ScoreTable,
    *,
    field: ReadNumber = "score",
    name: OutputName = None,
    bounds: ValueBounds = None,
    level: float = 0.95,
) -> list[Summary]:
    """The largest value, with an interval for the largest value of another run of the same size (order statistics).

    `bounds` is the range that the value can take; without it, the one that its scorer describes. Without either the
    interval ends at the largest value seen, and the signature says so.
    """
    return [_extreme(table, "max", field, name, bounds, level)]


@describes(of_extreme)
@part("The minimum of a score value.", example="field: score")
def minimum(
    table: ScoreTable,
    *,
    field: ReadNumber = "score",
    name: OutputName = None,
    bounds: ValueBounds = None,
    level: float = 0.95,
) -> list[Summary]:
    """The smallest value, with an interval as for `max`."""
    return [_extreme(table, "min", field, name, bounds, level)]


@describes(of_median)
@part("The median of a score value.", example="field: seconds")
def median(
    table: ScoreTable,
    *,
    field: ReadNumber = "score",
    name: OutputName = None,
    bounds: ValueBounds = None,
    level: float = 0.95,
) -> list[Summary]:
    """The value that half of the values lie below, with the interval of a `quantile`."""
    return [_quantile(table, "median", 0.5, field, name, bounds, level)]


@describes(of_quantile)
@part("A quantile of a score value.", example="field: seconds, q: 0.9, name: seconds_p90")
def quantile(
    table: ScoreTable,
    *,
    q: Annotated[float, Meta(gt=0.0, lt=1.0), Doc("The share of values below it, such as 0.9.")],
    field: ReadNumber = "score",
    name: OutputName = None,
    bounds: ValueBounds = None,
    level: float = 0.95,
) -> list[Summary]:
    """The value that a share `q` of the values lies below, with an interval of order statistics.

    An end that so few values do not show is that of `bounds`, or of the range that the scorer describes; without
    either there is no interval: the 90th percentile needs 36 values.
    """
    return [_quantile(table, f"quantile-{q:g}", q, field, name or f"{field}_quantile", bounds, level)]


@describes(of_spread)
@part("The deviation of a score value.", example="field: score")
def std_dev(
    table: ScoreTable,
    *,
    field: ReadNumber = "score",
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """The population standard deviation (divided by n) of a value, with Bonett's interval."""
    numbers = table.numbers(field)
    output = name or f"{field}_std_dev"
    if not len(numbers):
        return [empty_cell(output, "std_dev", numbers, table)]
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(numbers.values.std())
    if not math.isfinite(deviation):
        return [empty_cell(output, "std_dev", numbers, table, TOO_LARGE)]
    interval = spread_interval(numbers.values, groups_of(numbers), level, shares=table.range_of(field) == UNIT)
    return [cell(output, "std_dev", deviation, interval, rows=numbers, table=table)]


def _name_of_one(options: Mapping[str, Any]) -> list[Problem]:
    """The shares of several values are called by them; a name would be of no effect."""
    unused = options["name"] is not None and options["label"] is None
    return [(("name",), "this names the share of one value; give its `label` too")] if unused else []


@describes(of_frequency)
@part(
    "The share of each distinct value, or of one.",
    example="field: label, label: refusal, name: refusals",
    check=_name_of_one,
)
def frequency(
    table: ScoreTable,
    *,
    field: ReadValue,
    label: Annotated[
        str | bool | float | None, Doc("The value whose share is the number; without it there is no score.")
    ] = None,
    name: OutputName = None,
    level: float = 0.95,
    most: int = 1000,
) -> list[Summary]:
    """The share of each distinct value, `{field}_{value}`; the shares add up to 1.

    With `label` only the share of that value, even if it never occurs, so that tasks can be compared by it.
    """
    labels = table.labels(field)
    if not len(labels):
        output = f"{field}_frequency" if label is None else name or f"{field}_{as_text(label)}"
        return [empty_cell(output, "frequency", labels, table)]
    codes = labels.codes[:, 0]
    if label is not None:
        wanted = [code for code, text in enumerate(labels.vocabulary) if text == as_text(label)]
        output = name or f"{field}_{as_text(label)}"
        return [share_of(output, "frequency", np.isin(codes, wanted), rows=labels, table=table, level=level)]
    distinct = np.unique(codes)
    if len(distinct) > most:
        reason = f"`{field}` has {len(distinct):,} distinct values, more than the {most:,} that frequency lists"
        return [empty_cell(f"{field}_frequency", "frequency", labels, table, reason)]
    return [
        share_of(
            f"{field}_{labels.vocabulary[code]}", "frequency", codes == code, rows=labels, table=table, level=level
        )
        for code in distinct
    ]


@describes(of_weights)
@part("The mean weight of the labels.", example="field: label, weights: {good: 1, fair: 0.5, poor: 0}")
def weighted_average(
    table: ScoreTable,
    *,
    field: ReadValue,
    weights: Annotated[Mapping[str, float], Meta(min_length=1), Doc("The weight of each label.")],
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """The mean weight of the samples' labels; no number unless every label has a weight."""
    labels = table.labels(field)
    output = name or f"{field}_weighted_average"
    if not len(labels):
        return [empty_cell(output, "weighted_average", labels, table)]
    by_text = {as_text(label): float(weight) for label, weight in weights.items()}
    codes = labels.codes[:, 0]
    unknown = [labels.vocabulary[code] for code in np.unique(codes) if labels.vocabulary[code] not in by_text]
    if unknown:
        missing, known = (", ".join(f"`{label}`" for label in part) for part in (unknown[:5], by_text))
        reason = f"no weight for the label {missing}; weights are given for {known}"
        return [empty_cell(output, "weighted_average", labels, table, reason)]
    values = np.array([by_text.get(label, 0.0) for label in labels.vocabulary])[codes]
    scale = (min(by_text.values()), max(by_text.values()))
    interval = interval_of_mean(values, groups_of(labels), level, scale)
    return [cell(output, "weighted_average", mean_of(values), interval, rows=labels, table=table)]


def _extreme(
    table: ScoreTable, which: str, field: str, name: str | None, bounds: Sequence[float] | None, level: float
) -> Summary:
    numbers = table.numbers(field)
    output = name or f"{field}_{which}"
    if not len(numbers):
        return empty_cell(output, which, numbers, table)
    within = _within(table, field, numbers, bounds)
    lowest, highest = float(numbers.values.min()), float(numbers.values.max())
    value, interval_of = (highest, largest_interval) if which == "max" else (lowest, smallest_interval)
    interval = interval_of(numbers.values, groups_of(numbers), level, within)
    return cell(output, which, value, interval, rows=numbers, table=table)


def _quantile(
    table: ScoreTable,
    definition: str,
    q: float,
    field: str,
    name: str | None,
    bounds: Sequence[float] | None,
    level: float,
) -> Summary:
    numbers = table.numbers(field)
    output = name or f"{field}_{definition}"
    if not len(numbers):
        return empty_cell(output, definition, numbers, table)
    within = _within(table, field, numbers, bounds)
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(np.quantile(numbers.values, q))
    if not math.isfinite(value):
        return empty_cell(output, definition, numbers, table, TOO_LARGE)
    interval = quantile_interval(numbers.values, q, groups_of(numbers), level, within)
    return cell(output, definition, value, interval, rows=numbers, table=table)


def _within(table: ScoreTable, field: str, numbers: Numbers, bounds: Sequence[float] | None) -> Range | None:
    """The ends of the scale; none where a described one does not hold every value."""
    if bounds is not None:
        return float(bounds[0]), float(bounds[1])
    described = table.range_of(field)
    return described if described is not None and holds_all(described, numbers.values) else None
