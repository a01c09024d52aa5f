"""The aggregates: the scores of many samples become leaderboard cells, each with its uncertainty and its
definition.

All share one shape, `aggregate(table, *, options…, level=0.95, seed=0) -> list[Summary]`, and one promise:
where nothing was scored, or a denominator is empty, the value is None with a reason; it is never 0 and never
NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.core.types import Summary
from assay.stats.bootstrap import SumStatistic, bootstrap_sums, divide
from assay.stats.extremes import largest_interval, smallest_interval
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
from assay.stats.score_table import Labels, Numbers, ScoreTable, as_text

Mask = NDArray[np.bool_]


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
    interval = interval_of_mean(numbers.values, _groups(numbers), level)
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


def maximum(
    table: ScoreTable,
    *,
    field: str = "score",
    name: str | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The largest value, with where the largest of a fresh run of the same size may well lie, from order statistics.

    `bounds` is the range the value can take; `score` and `is_correct` lie in [0, 1]. Without one nothing is known
    above the largest value seen, and the signature says that the interval ends there.
    """
    del seed
    return [_extreme(table, "max", field, name, bounds, level)]


def minimum(
    table: ScoreTable,
    *,
    field: str = "score",
    name: str | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The smallest value, with an interval as for `max`."""
    del seed
    return [_extreme(table, "min", field, name, bounds, level)]


def std_dev(
    table: ScoreTable,
    *,
    field: str = "score",
    name: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """The population standard deviation (divided by n) of a value, with a bootstrap interval."""
    numbers = table.numbers(field)
    output = name or f"{field}_std_dev"
    if not len(numbers):
        return [_nothing(output, "std_dev", numbers, table)]
    # centred, so that the difference of squares loses no digits
    centred = numbers.values - numbers.values.mean()
    rows = np.column_stack([np.ones_like(centred), centred, centred**2])
    interval = bootstrap_sums(rows, _spread, groups=_groups(numbers), level=level, resamples=resamples, seed=seed)
    return [_summary(output, "std_dev", float(numbers.values.std()), interval, rows=numbers, table=table)]


def frequency(table: ScoreTable, *, field: str, level: float = 0.95, seed: int = 0, most: int = 1000) -> list[Summary]:
    """The share of each distinct value, `{field}_{value}`; the shares add up to 1."""
    del seed
    labels = table.labels(field)
    if not len(labels):
        return [_nothing(f"{field}_frequency", "frequency", labels, table)]
    codes = labels.codes[:, 0]
    seen = np.unique(codes)
    if len(seen) > most:
        reason = f"`{field}` has {len(seen):,} distinct values, more than the {most:,} that frequency lists"
        return [_nothing(f"{field}_frequency", "frequency", labels, table, reason)]
    return [
        _share_of(
            f"{field}_{labels.vocabulary[code]}", "frequency", codes == code, rows=labels, table=table, level=level
        )
        for code in seen
    ]


def binary_classification(
    table: ScoreTable,
    *,
    field_gt: str,
    field_pred: str,
    positive_answer: str | bool | float,
    negative_answer: str | bool | float,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """accuracy, precision, recall and f1_score of a yes/no answer; the confusion matrix is in accuracy's details.

    Values are compared as texts. A sample whose truth or prediction is neither answer is left out of all four and
    counted as unscored: many of those make a good score mean little.
    """
    labels = table.labels(field_gt, field_pred)
    positive, negative = (_code_of(labels, answer) for answer in (positive_answer, negative_answer))
    known = ((labels.codes == positive) | (labels.codes == negative)).all(axis=1)
    left = _only(labels, known)
    if not len(left):
        reason = labels.reason or (
            f"no sample has `{as_text(positive_answer)}` or `{as_text(negative_answer)}` in both "
            f"`{field_gt}` and `{field_pred}`"
        )
        names = ("accuracy", "precision", "recall", "f1_score")
        return [_nothing(name, f"binary-classification.{name}", left, table, reason) for name in names]
    truth, said = (left.codes == positive).T
    counts = np.column_stack([truth & said, ~truth & said, truth & ~said]).astype(np.float64)
    tp, fp, fn = (int(count) for count in counts.sum(axis=0))
    confusion = {"tp": tp, "fp": fp, "fn": fn, "tn": len(left) - tp - fp - fn}

    def share(name: str, right: Mask, among: Mask, empty: str, **details: Any) -> Summary:
        definition = f"binary-classification.{name}"
        return _share_among(name, definition, right, among, empty, rows=left, table=table, level=level, details=details)

    everything = np.ones(len(left), dtype=bool)
    return [
        share("accuracy", truth == said, everything, "", confusion=confusion),
        share("precision", truth, said, "nothing was predicted positive"),
        share("recall", said, truth, "nothing is positive in truth"),
        _ratio_of_counts(
            "f1_score",
            "binary-classification.f1_score",
            counts,
            _f1,
            "nothing is positive, neither in truth nor predicted",
            rows=left,
            table=table,
            level=level,
            seed=seed,
            resamples=resamples,
        ),
    ]


def multiclass_classification(
    table: ScoreTable, *, field_gt: str, field_pred: str, level: float = 0.95, seed: int = 0
) -> list[Summary]:
    """accuracy, and `{class}_precision` and `{class}_recall` for every class seen in either field."""
    del seed
    labels = table.labels(field_gt, field_pred)
    if not len(labels):
        return [_nothing("accuracy", "multiclass-classification.accuracy", labels, table)]
    truth, said = labels.codes.T
    everything = np.ones(len(labels), dtype=bool)

    def share(name: str, kind: str, right: Mask, among: Mask, empty: str) -> Summary:
        definition = f"multiclass-classification.{kind}"
        return _share_among(name, definition, right, among, empty, rows=labels, table=table, level=level)

    summaries = [share("accuracy", "accuracy", truth == said, everything, "")]
    for code in np.unique(labels.codes):
        label = labels.vocabulary[code]
        summaries.append(
            share(f"{label}_precision", "precision", truth == code, said == code, f"`{label}` was never predicted")
        )
        summaries.append(
            share(f"{label}_recall", "recall", said == code, truth == code, f"`{label}` is never the truth")
        )
    return summaries


def recall(
    table: ScoreTable,
    *,
    num_true_positives_field: str,
    num_false_negatives_field: str,
    name: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """TP / (TP + FN), counts summed over the samples before dividing, with a bootstrap interval."""
    numbers = table.numbers(num_true_positives_field, num_false_negatives_field)
    empty = "there is nothing to find: no true positive and no false negative"
    return [
        _ratio_of_counts(
            name or "recall",
            "recall",
            numbers.rows,
            _first_share,
            empty,
            rows=numbers,
            table=table,
            level=level,
            seed=seed,
            resamples=resamples,
        )
    ]


def precision(
    table: ScoreTable,
    *,
    num_true_positives_field: str,
    num_false_positives_field: str,
    name: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """TP / (TP + FP), counts summed over the samples before dividing, with a bootstrap interval."""
    numbers = table.numbers(num_true_positives_field, num_false_positives_field)
    empty = "nothing was claimed: no true positive and no false positive"
    return [
        _ratio_of_counts(
            name or "precision",
            "precision",
            numbers.rows,
            _first_share,
            empty,
            rows=numbers,
            table=table,
            level=level,
            seed=seed,
            resamples=resamples,
        )
    ]


def f1_score(
    table: ScoreTable,
    *,
    num_true_positives_field: str,
    num_false_positives_field: str,
    num_false_negatives_field: str,
    name: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    resamples: int = 1000,
) -> list[Summary]:
    """2 TP / (2 TP + FP + FN), counts summed over the samples before dividing, with a bootstrap interval."""
    numbers = table.numbers(num_true_positives_field, num_false_positives_field, num_false_negatives_field)
    return [
        _ratio_of_counts(
            name or "f1_score",
            "f1_score",
            numbers.rows,
            _f1,
            "there is nothing to find and nothing was claimed",
            rows=numbers,
            table=table,
            level=level,
            seed=seed,
            resamples=resamples,
        )
    ]


def weighted_average(
    table: ScoreTable,
    *,
    field: str,
    weights: Mapping[str, float],
    name: str | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The mean of the weight that each sample's label has; a label without a weight leaves no number, not a guess."""
    del seed
    labels = table.labels(field)
    output = name or f"{field}_weighted_average"
    if not len(labels):
        return [_nothing(output, "weighted_average", labels, table)]
    by_text = {as_text(label): float(weight) for label, weight in weights.items()}
    codes = labels.codes[:, 0]
    unknown = [labels.vocabulary[code] for code in np.unique(codes) if labels.vocabulary[code] not in by_text]
    if unknown:
        told, known = (", ".join(f"`{label}`" for label in part) for part in (unknown[:5], by_text))
        reason = f"no weight for the label {told}; weights are given for {known}"
        return [_nothing(output, "weighted_average", labels, table, reason)]
    values = np.array([by_text.get(label, 0.0) for label in labels.vocabulary])[codes]
    interval = interval_of_mean(values, _groups(labels), level)
    return [_summary(output, "weighted_average", float(values.mean()), interval, rows=labels, table=table)]


def _extreme(
    table: ScoreTable, which: str, field: str, name: str | None, bounds: tuple[float, float] | None, level: float
) -> Summary:
    numbers = table.numbers(field)
    output = name or f"{field}_{which}"
    if not len(numbers):
        return _nothing(output, which, numbers, table)
    lowest, highest = float(numbers.values.min()), float(numbers.values.max())
    if bounds is None and field in ("score", "is_correct") and lowest >= 0.0 and highest <= 1.0:
        bounds = (0.0, 1.0)
    find = largest_interval if which == "max" else smallest_interval
    interval = find(numbers.values, _groups(numbers), level, bounds)
    value = highest if which == "max" else lowest
    return _summary(output, which, value, interval, rows=numbers, table=table)


def _share_of(name: str, definition: str, right: Mask, *, rows: Labels, table: ScoreTable, level: float) -> Summary:
    everything = np.ones(len(rows), dtype=bool)
    return _share_among(name, definition, right, everything, "", rows=rows, table=table, level=level)


def _share_among(
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
        return _nothing(name, definition, rows, table, empty)
    values = right[among].astype(np.float64)
    interval = interval_of_mean(values, rows.clusters[among] if rows.clustered else None, level)
    value = float(values.mean())
    return _summary(name, definition, value, interval, rows=rows, table=table, **(details or {}))


def _ratio_of_counts(
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
    if not len(rows):
        return _nothing(name, definition, rows, table)
    if (counts < 0).any():
        return _nothing(name, definition, rows, table, "a count is negative")
    value = float(statistic(counts.sum(axis=0)[None, :])[0])
    if not np.isfinite(value):
        return _nothing(name, definition, rows, table, empty)
    interval = bootstrap_sums(counts, statistic, groups=_groups(rows), level=level, resamples=resamples, seed=seed)
    if interval.low is None and value in (0.0, 1.0):
        # no resample can differ where nothing went wrong, or nothing right; as many samples, all alike, still can
        units = int(rows.clusters.max()) + 1
        interval = replace(wilson(value * units, units, level), method="wilson-of-samples")
    return _summary(name, definition, value, interval, rows=rows, table=table)


def _first_share(sums: Floats) -> Floats:
    return divide(sums[:, 0], sums[:, 0] + sums[:, 1])


def _f1(sums: Floats) -> Floats:
    return divide(2.0 * sums[:, 0], 2.0 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def _spread(sums: Floats) -> Floats:
    count, total, squares = sums.T
    return np.sqrt(np.maximum(divide(squares, count) - divide(total, count) ** 2, 0.0))


def _groups(rows: Numbers | Labels) -> Codes | None:
    return rows.clusters if rows.clustered else None


def _code_of(labels: Labels, answer: str | bool | float) -> int:
    """The code of an answer in the vocabulary, or one that no row has."""
    text = as_text(answer)
    if set(labels.vocabulary) <= {"True", "False"}:
        # a task file may spell the truth values of its scorer `true` or "true"
        text = text.capitalize()
    return labels.vocabulary.index(text) if text in labels.vocabulary else len(labels.vocabulary)


def _only(labels: Labels, rows: Mask) -> Labels:
    return Labels(
        codes=labels.codes[rows],
        vocabulary=labels.vocabulary,
        clusters=np.unique(labels.clusters[rows], return_inverse=True)[1].reshape(-1),
        clustered=labels.clustered,
        unscored=labels.unscored + int(len(rows) - rows.sum()),
        reason=labels.reason,
    )


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
