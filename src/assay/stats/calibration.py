"""Calibration, whether a model is right as often as it claims, and how well it predicts text."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.stats.intervals import Codes, Floats, Interval, as_floats, check_level, cluster_codes, is_binary
from assay.stats.quantiles import normal_quantile

_CLEAR = 2.5
"""Standard errors beyond which a bin's gap counts as real."""
_EXACT = 2000
"""Answers beyond which the noise is drawn as normal."""


class ReliabilityBin(Struct, frozen=True, kw_only=True):
    """One bar of a reliability diagram."""

    low: float
    high: float
    """Confidences in (low, high]; the first bin of equal width holds 0 as well."""
    count: int
    confidence: float | None
    """Mean confidence in the bin; None when it is empty."""
    accuracy: float | None


def reliability_bins(confidences: ArrayLike, right: ArrayLike, *, bins: int = 10) -> list[ReliabilityBin]:
    """The bars of a reliability diagram, with bins of equal width (Guo et al. 2017)."""
    stated, truth = _confidences(confidences, right)
    edges, codes = _binned(stated, bins)
    counts = np.bincount(codes, minlength=bins)
    stated_sums = np.bincount(codes, weights=stated, minlength=bins)
    right_sums = np.bincount(codes, weights=truth, minlength=bins)
    return [
        ReliabilityBin(
            low=float(edges[i]),
            high=float(edges[i + 1]),
            count=int(count),
            confidence=float(stated_sums[i] / count) if count else None,
            accuracy=float(right_sums[i] / count) if count else None,
        )
        for i, count in enumerate(counts)
    ]


def expected_calibration_error(confidences: ArrayLike, right: ArrayLike, *, bins: int = 10) -> float:
    """The mean distance between confidence and accuracy, over bins weighted by their size.

    Misleads with few samples (a perfectly calibrated model still shows an error of the order √(bins/n)) and when
    compared across numbers of bins, so state both. Reference: Guo et al. 2017, equation 3.
    """
    filled = [
        (each.count, abs(each.accuracy - each.confidence))
        for each in reliability_bins(confidences, right, bins=bins)
        if each.accuracy is not None and each.confidence is not None
    ]
    total = sum(count for count, _ in filled)
    return math.fsum(count * gap for count, gap in filled) / total


class CalibrationTest(Struct, frozen=True, kw_only=True):
    """How an expected calibration error compares with that of a calibrated model."""

    interval: Interval
    """Includes 0 unless the test distinguishes the model from a calibrated one."""
    p_value: float
    """The chance that a calibrated model shows an error this large or larger."""
    if_calibrated: float
    """The error that a calibrated model shows on average with these confidences, for lack of answers alone."""


def calibration_test(
    confidences: ArrayLike,
    right: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    bins: int = 10,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 2000,
) -> CalibrationTest:
    """Interval of the expected calibration error (bins of equal width) and the test that there is none.

    The error is a sum of absolute values, so chance only adds to it. Upper end: the error lies above the signed sum
    with the true signs, so it falls short of the truth by no more than that sum's normal error. Lower end: the error
    less what chance adds (its upper percentile, drawn from a model that has the clear gaps seen and no others), and 0
    unless the test of no gap at all rejects.
    """
    check_level(level)
    stated, truth = _confidences(confidences, right)
    _, codes = _binned(stated, bins)
    gaps = np.bincount(codes, weights=truth - stated, minlength=bins) / len(stated)
    error = float(np.abs(gaps).sum())
    noise = _noise(stated, truth, codes, groups, bins, draws, np.random.default_rng(seed))
    calibrated = np.abs(noise).sum(axis=1)
    p_value = (int((calibrated >= error - 1e-12).sum()) + 1) / (draws + 1)
    noise = noise * _wider(stated, truth, codes, bins)
    low = _lower_end(gaps, noise, level) if p_value < 1.0 - level else 0.0
    reach = normal_quantile(0.5 + level / 2.0) * math.sqrt(float((noise.sum(axis=1) ** 2).mean()))
    interval = Interval(
        low=min(low, error), high=min(1.0, error + reach), level=level, method=f"calibration-test|n={draws}|seed={seed}"
    )
    return CalibrationTest(interval=interval, p_value=p_value, if_calibrated=float(calibrated.mean()))


def word_perplexity(log_likelihoods: ArrayLike, words: ArrayLike) -> float:
    """exp(−Σ log-likelihood / Σ words). Count words by splitting at whitespace, as the field does."""
    return _exp(_rate(log_likelihoods, words))


def bits_per_byte(log_likelihoods: ArrayLike, sizes: ArrayLike) -> float:
    """−Σ log-likelihood / (Σ UTF-8 bytes · ln 2): comparable between models with different tokenisers."""
    return _rate(log_likelihoods, sizes) / math.log(2.0)


def _confidences(confidences: ArrayLike, right: ArrayLike) -> tuple[Floats, Floats]:
    stated, truth = as_floats(confidences), as_floats(right)
    if len(stated) != len(truth) or not len(stated):
        raise ValueError(f"need one outcome per confidence, got {len(stated)} and {len(truth)}")
    if stated.min() < 0.0 or stated.max() > 1.0:
        raise ValueError("confidences are probabilities between 0 and 1")
    if not is_binary(truth):
        raise ValueError("outcomes are 0 or 1")
    return stated, truth


def _binned(stated: Floats, bins: int) -> tuple[Floats, Codes]:
    """The edges of the bins, and the bin of each confidence."""
    if bins < 1:
        raise ValueError(f"need at least one bin, got {bins}")
    edges = np.arange(bins + 1) / bins
    return edges, np.clip(np.searchsorted(edges, stated, side="left") - 1, 0, bins - 1)


def _noise(
    stated: Floats,
    truth: Floats,
    codes: Codes,
    groups: ArrayLike | None,
    bins: int,
    draws: int,
    random: np.random.Generator,
) -> Floats:
    """What chance alone adds to each bin's gap, in every draw, if answers are right with the stated probability."""
    n = len(stated)
    if groups is not None:
        clusters, count = cluster_codes(groups, n)
        sums = np.zeros((count, bins))
        np.add.at(sums, (clusters, codes), truth - stated)
        # answers of one cluster are right or wrong together, so their joint spread comes from the clusters themselves
        drawn = random.standard_normal((draws, count)) @ sums if count <= _EXACT else _normal(sums, draws, random)
        return drawn / n
    if n > _EXACT:
        spread = np.sqrt(np.bincount(codes, weights=stated * (1.0 - stated), minlength=bins))
        return random.standard_normal((draws, bins)) * spread / n
    inside = np.zeros((n, bins))
    inside[np.arange(n), codes] = 1.0
    return ((random.random((draws, n)) < stated) - stated) @ inside / n


def _wider(stated: Floats, truth: Floats, codes: Codes, bins: int) -> Floats:
    """How much more the answers of each bin scatter than their confidences imply: stated as sure, yet often wrong."""
    counts = np.bincount(codes, minlength=bins)
    share = (np.bincount(codes, weights=truth, minlength=bins) + 1.0) / (counts + 2.0)
    implied = np.bincount(codes, weights=stated * (1.0 - stated), minlength=bins)
    seen = counts * share * (1.0 - share)
    wider: Floats = np.sqrt(np.divide(seen, implied, out=np.ones(bins), where=(implied > 0.0) & (seen > implied)))
    return wider


def _lower_end(gaps: Floats, noise: Floats, level: float) -> float:
    error = float(np.abs(gaps).sum())
    clear = np.where(np.abs(gaps) > _CLEAR * noise.std(axis=0), gaps, 0.0)
    added = np.abs(clear + noise).sum(axis=1) - float(np.abs(clear).sum())
    # the test has ruled out 0, so the lower end stays above it
    return max(error - float(np.quantile(added, 0.5 + level / 2.0, method="weibull")), 1e-3 * error)


def _normal(sums: Floats, draws: int, random: np.random.Generator) -> Floats:
    values, vectors = np.linalg.eigh(sums.T @ sums)
    drawn: Floats = random.standard_normal((draws, len(values))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return drawn


def _rate(log_likelihoods: ArrayLike, units: ArrayLike) -> float:
    values, sizes = as_floats(log_likelihoods), as_floats(units)
    if len(values) != len(sizes):
        raise ValueError(f"need one size per log-likelihood, got {len(values)} and {len(sizes)}")
    total = math.fsum(sizes)
    if total <= 0.0:
        raise ValueError("perplexity of an empty text is undefined")
    return -math.fsum(values) / total


def _exp(exponent: float) -> float:
    try:
        return math.exp(exponent)
    except OverflowError:
        raise ValueError(f"the perplexity e^{exponent:.0f} is too large; check the log-likelihoods") from None
