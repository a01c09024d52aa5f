"""Whether a model's confidence means what it says (calibration error) and how well it predicts text."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.stats.intervals import Codes, Floats, as_floats, is_binary

Binning = Literal["equal-width", "equal-mass"]


class ReliabilityBin(Struct, frozen=True, kw_only=True):
    """One bar of a reliability diagram."""

    low: float
    high: float
    """Confidences in (low, high]; the first bin of equal width holds 0 as well."""
    count: int
    confidence: float | None
    """Mean confidence of what fell in; None in an empty bin."""
    accuracy: float | None


def reliability_bins(
    confidences: ArrayLike, right: ArrayLike, *, bins: int = 10, binning: Binning = "equal-width"
) -> list[ReliabilityBin]:
    """The bars of a reliability diagram.

    Equal width cuts [0, 1] evenly (Guo et al. 2017); equal mass puts about as many samples in every bin and never
    parts equal confidences, so it may return fewer bins than asked for.
    """
    stated, truth = _confidences(confidences, right)
    edges, codes = _binned(stated, bins, binning)
    counts = np.bincount(codes, minlength=len(edges) - 1)
    stated_sums = np.bincount(codes, weights=stated, minlength=len(counts))
    right_sums = np.bincount(codes, weights=truth, minlength=len(counts))
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


def expected_calibration_error(
    confidences: ArrayLike, right: ArrayLike, *, bins: int = 10, binning: Binning = "equal-width"
) -> float:
    """The mean distance between confidence and accuracy, over bins weighted by their size.

    Misleads with few samples (an empty-handed perfect model still shows an error of the order √(bins/n)) and when
    compared across numbers of bins, so state both. Reference: Guo et al. 2017, equation 3.
    """
    filled = [
        (each.count, abs(each.accuracy - each.confidence))
        for each in reliability_bins(confidences, right, bins=bins, binning=binning)
        if each.accuracy is not None and each.confidence is not None
    ]
    total = sum(count for count, _ in filled)
    return math.fsum(count * gap for count, gap in filled) / total


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


def _binned(stated: Floats, bins: int, binning: Binning) -> tuple[Floats, Codes]:
    if bins < 1:
        raise ValueError(f"need at least one bin, got {bins}")
    if binning == "equal-width":
        edges = np.arange(bins + 1) / bins
    else:
        ordered = np.sort(stated)
        last_of_bin = (np.arange(1, bins + 1) * len(ordered)) // bins - 1
        edges = np.unique(np.concatenate([[0.0], ordered[last_of_bin[last_of_bin >= 0]]]))
        if len(edges) == 1:
            edges = np.array([0.0, 1.0])
    codes = np.searchsorted(edges, stated, side="left") - 1
    return edges, np.clip(codes, 0, len(edges) - 2)


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
        raise ValueError(f"a perplexity of e^{exponent:.0f} is beyond any number; check the log-likelihoods") from None
