"""Agreement of raters, such as a judge and people: raw agreement, and a kappa, which corrects for chance.

Of two raters it is Cohen's, of more of them Fleiss'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.stats.bootstrap import bootstrap_sums, divide
from assay.stats.cells import UNIT, interval_of_mean
from assay.stats.intervals import Codes, Floats, Interval, no_interval

Label = str | float | bool
KappaWeights = Literal["none", "linear", "quadratic"]


class Agreement(Struct, frozen=True, kw_only=True):
    """How two raters agree."""

    n: int
    raw: float | None
    """Share of samples that both label the same."""
    raw_interval: Interval
    kappa: float | None
    """Agreement beyond chance: 1 is perfect, 0 is what the two marginals give by chance."""
    kappa_interval: Interval
    labels: list[str]
    reason: str | None = None
    """Why there is no kappa, when there is none."""


def agreement(
    first: Sequence[Label],
    second: Sequence[Label],
    *,
    weights: KappaWeights = "none",
    order: Sequence[Label] | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Raw agreement and Cohen's kappa of two lists of labels, sample by sample.

    Linear and quadratic weights forgive near misses and need the labels' `order`. Kappa is low, whatever the raw
    agreement, where nearly all samples have one label: read the two together.
    """
    if len(first) != len(second):
        raise ValueError(f"raters must have labelled the same samples: {len(first)} and {len(second)} labels")
    labels = _vocabulary(first, second, weights, order)
    place = {label: i for i, label in enumerate(labels)}
    a = np.array([place[label] for label in first], dtype=np.intp)
    b = np.array([place[label] for label in second], dtype=np.intp)
    same = (a == b).astype(np.float64)
    raw_interval = interval_of_mean(same, groups, level, UNIT)
    penalties = _penalties(len(labels), weights)
    kappa = float(_kappa(_sums(a, b, penalties)[None, :], penalties)[0]) if len(a) else math.nan
    if math.isnan(kappa):
        reason = "both raters gave every sample the same label" if len(a) else "nothing was rated by both"
        kappa_interval = no_interval("bootstrap", level, reason)
    else:
        kappa_interval = _kappa_interval(a, b, penalties, groups, level=level, resamples=resamples, seed=seed)
    return Agreement(
        n=len(a),
        raw=float(same.mean()) if len(a) else None,
        raw_interval=raw_interval,
        kappa=None if math.isnan(kappa) else kappa,
        kappa_interval=kappa_interval,
        labels=[str(label) for label in labels],
        reason=kappa_interval.reason if math.isnan(kappa) else None,
    )


class SeveralAgreement(Struct, frozen=True, kw_only=True):
    """How more than two raters agree."""

    n: int
    raw: float | None
    """The share of pairs of raters with the same label."""
    raw_interval: Interval
    kappa: float | None
    kappa_interval: Interval


def fleiss_agreement(
    codes: Codes,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> SeveralAgreement:
    """Agreement of several raters, a row of label codes per sample: Fleiss 1971."""
    samples, raters = codes.shape
    if raters < 2:
        raise ValueError(f"agreement needs at least two raters, got {raters}")
    labels = int(codes.max()) + 1 if codes.size else 0
    counts = np.stack([(codes == label).sum(axis=1) for label in range(labels)], axis=1) if labels else codes
    same = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    raw_interval = interval_of_mean(same.astype(np.float64), groups, level, UNIT)
    rows = np.column_stack([same, counts / raters]) if samples else np.zeros((0, 1))
    kappa = float(_fleiss(rows.sum(axis=0)[None, :])[0]) if samples else math.nan
    if math.isnan(kappa):
        reason = "all raters gave every sample the same label" if samples else "nothing was rated by all"
        interval = no_interval("bootstrap", level, reason)
    else:
        interval = bootstrap_sums(rows, _fleiss, groups=groups, level=level, resamples=resamples, seed=seed)
    return SeveralAgreement(
        n=samples,
        raw=float(same.mean()) if samples else None,
        raw_interval=raw_interval,
        kappa=None if math.isnan(kappa) else kappa,
        kappa_interval=interval,
    )


def _fleiss(sums: Floats) -> Floats:
    """(observed − expected) / (1 − expected) agreement; NaN where only one label occurs."""
    n = sums[:, 1:].sum(axis=1)
    by_chance = (divide(sums[:, 1:], n[:, None] * np.ones_like(sums[:, 1:])) ** 2).sum(axis=1)
    missing = 1.0 - by_chance
    missing[np.isclose(missing, 0.0)] = 0.0
    return divide(divide(sums[:, 0], n) - by_chance, missing)


def _vocabulary(
    first: Sequence[Label], second: Sequence[Label], weights: KappaWeights, order: Sequence[Label] | None
) -> list[Label]:
    seen = set(first) | set(second)
    if order is not None:
        if missing := seen - set(order):
            raise ValueError(f"the order of labels lacks {', '.join(sorted(f'`{label}`' for label in missing))}")
        return list(order)
    if weights != "none" and any(isinstance(label, str) for label in seen):
        raise ValueError(f"{weights} weights need the `order` of the labels")
    return sorted(seen, key=lambda label: (isinstance(label, str), label))


def _penalties(labels: int, weights: KappaWeights) -> Floats:
    """The penalty of each pair of labels: 0 on the diagonal."""
    steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels))).astype(np.float64)
    if weights == "none":
        return (steps > 0).astype(np.float64)
    return steps if weights == "linear" else steps**2


def _rows(a: Codes, b: Codes, penalties: Floats) -> Floats:
    """Per sample: the penalty, then which label each rater gave; kappa is a function of their sums."""
    one_hot = np.eye(len(penalties))
    return np.column_stack([penalties[a, b], one_hot[a], one_hot[b]])


def _sums(a: Codes, b: Codes, penalties: Floats) -> Floats:
    labels = len(penalties)
    by_first, by_second = np.bincount(a, minlength=labels), np.bincount(b, minlength=labels)
    return np.concatenate([[penalties[a, b].sum()], by_first, by_second])


def _kappa(sums: Floats, penalties: Floats) -> Floats:
    """1 − observed penalty / penalty expected from the marginals; NaN where the expected penalty is 0."""
    labels = len(penalties)
    by_first, by_second = sums[:, 1 : labels + 1], sums[:, labels + 1 :]
    n = by_first.sum(axis=1)
    expected = ((by_first @ penalties) * by_second).sum(axis=1)
    return 1.0 - divide(sums[:, 0] * n, expected)


def _kappa_interval(
    a: Codes,
    b: Codes,
    penalties: Floats,
    groups: ArrayLike | None,
    *,
    level: float,
    resamples: int,
    seed: int,
) -> Interval:
    def statistic(sums: Floats) -> Floats:
        return _kappa(sums, penalties)

    counts = None
    if groups is None:
        # each pair of labels once, however many samples have it
        cells, counts = np.unique(a * len(penalties) + b, return_counts=True)
        a, b = cells // len(penalties), cells % len(penalties)
    rows = _rows(a, b, penalties)
    return bootstrap_sums(rows, statistic, groups=groups, counts=counts, level=level, resamples=resamples, seed=seed)
