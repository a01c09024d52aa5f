"""What is expected of the pairs of a task: from earlier runs, or from a guess."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from assay.stats.guarded import spread_of
from assay.stats.intervals import Codes, Floats, is_binary
from assay.stats.power import Expected
from assay.stats.variance import Readings, variance_split


class EarlierScores(Struct, frozen=True, kw_only=True):
    """The scores of one task in an earlier run: a row for every attempt, with its sample and its group."""

    samples: Codes
    values: Floats
    groups: Codes


class Prospect(Struct, frozen=True, kw_only=True):
    """What two models are expected to do on a task, and how much of it is known."""

    expected: Expected
    at_most: bool
    """Whether nothing is known of what two models have in common, so that they may differ less than this."""
    noise_known: bool
    """Whether it is known how much two attempts of one model differ."""


def of_one_run(scores: EarlierScores, samples: int, *, share: bool) -> Prospect:
    """As two models would differ that have nothing in common but this run's scores."""
    right_wrong = share and is_binary(scores.values)
    single = float(scores.values.var(ddof=1)) if len(scores.values) > 1 else 0.0
    if right_wrong:
        mean = float(scores.values.mean())
        single = mean * (1.0 - mean)
    noise = _noise(scores)
    expected = Expected(
        samples=samples,
        variance=2.0 * single,
        noise=min(2.0 * (noise or 0.0), 2.0 * single),
        right_wrong=right_wrong,
        group=group_size(scores.groups, scores.samples),
        icc=intraclass_correlation(*_by_sample(scores)),
        largest_difference=1.0 if share else None,
    )
    return Prospect(expected=expected, at_most=True, noise_known=noise is not None)


def of_two_runs(first: EarlierScores, second: EarlierScores, samples: int, *, share: bool) -> Prospect:
    """As much as two earlier runs differ on the samples that both scored."""
    shared = np.intersect1d(first.samples, second.samples)
    sides = [_only(scores, shared) for scores in (first, second)]
    (before, groups), (after, _) = (_by_sample(side) for side in sides)
    noises = [_noise(side) for side in sides]
    attempts = [len(side.values) / max(1, len(shared)) for side in sides]
    # the means of several attempts differ less than two single attempts do
    hidden = sum((noise or 0.0) * (1.0 - 1.0 / count) for noise, count in zip(noises, attempts, strict=True))
    differences = after - before
    right_wrong = share and all(is_binary(side.values) for side in sides)
    seen = float((differences**2).mean() if right_wrong else differences.var(ddof=1)) if len(differences) > 1 else 0.0
    noise = sum(each or 0.0 for each in noises)
    group = group_size(groups, np.arange(len(groups)))
    skewed = share and not right_wrong and len(differences) > 1
    expected = Expected(
        samples=samples,
        variance=seen + hidden,
        noise=min(noise, seen + hidden),
        third=spread_of(differences, groups).third * (len(differences) / group) ** 2 if skewed else 0.0,
        right_wrong=right_wrong,
        group=group,
        icc=intraclass_correlation(differences, groups),
        largest_difference=1.0 if share else None,
    )
    return Prospect(expected=expected, at_most=False, noise_known=None not in noises)


def group_size(groups: Codes, samples: Codes) -> float:
    """Samples per group, as a sample sees it: the size of its own group, on average."""
    _, first = np.unique(samples, return_index=True)
    sizes = np.unique(groups[first], return_counts=True)[1].astype(np.float64)
    return float((sizes**2).sum() / sizes.sum()) if len(sizes) else 1.0


def intraclass_correlation(values: Floats, groups: Codes) -> float:
    """How alike the values of one group are, from 0 to 1 (analysis of variance)."""
    names, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n, count = len(values), len(names)
    if not 1 < count < n:
        return 0.0
    means = np.bincount(codes, weights=values) / sizes
    between = float((sizes * (means - values.mean()) ** 2).sum()) / (count - 1)
    within = float(((values - means[codes]) ** 2).sum()) / (n - count)
    typical = (n - float((sizes**2).sum()) / n) / (count - 1)
    whole = between + (typical - 1.0) * within
    return min(1.0, max(0.0, (between - within) / whole)) if whole > 0.0 else 0.0


def _noise(scores: EarlierScores) -> float | None:
    """The variance between two attempts at one sample, and two verdicts on it; None where it is not known."""
    rows = Readings(samples=scores.samples, draws=np.arange(len(scores.values)), values=scores.values)
    return variance_split(rows).draw


def _only(scores: EarlierScores, samples: Codes) -> EarlierScores:
    rows = np.isin(scores.samples, samples)
    return EarlierScores(samples=scores.samples[rows], values=scores.values[rows], groups=scores.groups[rows])


def _by_sample(scores: EarlierScores) -> tuple[Floats, Codes]:
    """The mean of every sample, in the order of their codes, and its group."""
    _, first, codes = np.unique(scores.samples, return_index=True, return_inverse=True)
    sizes = np.bincount(codes)
    means: Floats = np.bincount(codes, weights=scores.values) / np.maximum(sizes, 1)
    return means, scores.groups[first]
