"""The sign-flip test: whether the mean of paired differences could be 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.bootstrap import random_bytes
from assay.stats.intervals import Floats, as_floats, cluster_codes

EXACT_FLIPS = 16
"""At most this many differences are flipped in every possible way."""
_FEW_DISTINCT = 4096
_CHUNK_CELLS = 1 << 21


def permutation_test(
    differences: ArrayLike,
    *,
    groups: ArrayLike | Sequence[Any] | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> tuple[str, float]:
    """The sign-flip test that the mean difference is 0: its name in a signature, and its two-sided p-value.

    Exact over all sign patterns while at most 16 differences are not 0; beyond that Monte Carlo, (count + 1) /
    (resamples + 1), or Chernoff's bound on the same chance where that is smaller: resamples alone never give less than
    one in their number, which would not survive a correction for many comparisons. With groups a whole cluster flips at
    once.
    """
    units = as_floats(differences)
    if groups is not None:
        codes, clusters = cluster_codes(groups, len(units))
        units = np.asarray(np.bincount(codes, weights=units, minlength=clusters), dtype=np.float64)
    sizes = np.sort(np.abs(units[units != 0.0]))
    observed = abs(math.fsum(units))
    # a sum that differs from the observed one by rounding alone counts as equal
    threshold = observed - 1e-12 * float(sizes.sum())
    if len(sizes) <= EXACT_FLIPS:
        return "permutation-exact", _exact_share(sizes, threshold)
    distinct, counts = np.unique(sizes, return_counts=True)
    few = len(distinct) <= _FEW_DISTINCT
    number = resamples or (10_000 if few or len(sizes) <= 20_000 else 1000)
    random = np.random.default_rng(seed)
    sums = _flipped_histogram(distinct, counts, number, random) if few else _flipped(sizes, number, random)
    extreme = int((np.abs(sums) >= threshold).sum())
    p_value = (extreme + 1) / (number + 1)
    if extreme == 0:
        p_value = min(p_value, _chernoff(distinct, counts, observed))
    return f"permutation|n={number}|seed={seed}", p_value


def _exact_share(sizes: Floats, threshold: float) -> float:
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return float((np.abs(sums) >= threshold).mean())


def _flipped_histogram(
    distinct: Floats, counts: np.ndarray[Any, Any], number: int, random: np.random.Generator
) -> Floats:
    """Sums under random signs: of c equal sizes, a binomial number is positive."""
    per_chunk = max(1, _CHUNK_CELLS // len(distinct))
    parts = []
    for start in range(0, number, per_chunk):
        positive = random.binomial(counts, 0.5, size=(min(per_chunk, number - start), len(distinct)))
        parts.append((2 * positive - counts) @ distinct)
    return np.concatenate(parts)


def _flipped(sizes: Floats, number: int, random: np.random.Generator) -> Floats:
    """Sums under random signs, one random bit per difference, a block of differences at a time."""
    block = max(256, _CHUNK_CELLS // number)
    sums = np.full(number, -float(sizes.sum()))
    for first in range(0, len(sizes), block):
        part = sizes[first : first + block]
        width = -(-len(part) // 8)
        packed = random_bytes(random, number * width).reshape(number, width)
        positive = np.unpackbits(packed, axis=1, count=len(part)).astype(np.float64)
        sums += 2.0 * (positive @ part)
    return sums


def _chernoff(distinct: Floats, counts: np.ndarray[Any, Any], observed: float) -> float:
    """An upper bound on the chance that random signs sum to this or more, either way.

    It is 2·exp(Σ log cosh(t·size) − t·sum), which holds for every t and is closest where its slope is 0.
    """
    largest = float(distinct[-1])
    low, high = 1e-6 / largest, 1e6 / largest
    for _ in range(60):
        t = math.sqrt(low * high)
        low, high = (t, high) if float(counts @ (distinct * np.tanh(t * distinct))) < observed else (low, t)
    scaled = low * distinct
    log_cosh = scaled + np.log1p(np.exp(-2.0 * scaled)) - math.log(2.0)
    return min(1.0, 2.0 * math.exp(min(0.0, float(counts @ log_cosh) - low * observed)))
