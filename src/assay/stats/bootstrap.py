"""Bootstrap intervals, vectorised: a million samples resampled a thousand times in seconds and bounded memory.

No resample is ever materialised: a statistic of summed counts (F1, corpus BLEU, kappa) takes one multinomial draw over
the distinct rows, or one product of random weights with the rows where there are many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.stats.intervals import Floats, Interval, check_level, no_interval, rows_by_cluster, too_few
from assay.stats.quantiles import normal_cdf, student_t_quantile

SumStatistic = Callable[[Floats], Floats]
"""Sums of rows, one resample per row (R × k) -> the statistic of each (R); NaN where it is undefined."""

_BINS = 4096
_CHUNK_CELLS = 1 << 21
_EXACT_ROWS = 20_000
_UNDEFINED_SHARE = 0.05


def bootstrap_sums(
    rows: ArrayLike,
    statistic: SumStatistic,
    *,
    groups: ArrayLike | Sequence[Any] | None = None,
    counts: NDArray[np.intp] | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Interval of a statistic of column sums: `statistic(rows.sum(0))`, with the samples (or clusters) resampled.

    Beyond 20,000 distinct rows the weights are Poisson instead of multinomial, so the resample's size varies a little;
    that needs a statistic that does not change when all sums are scaled alike, as no ratio does. `counts` says how
    often each row occurs, for rows that are distinct already; it excludes groups.
    """
    if resamples < 2:
        raise ValueError(f"a bootstrap needs at least 2 resamples, got {resamples}")
    method = f"bootstrap|n={resamples}|seed={seed}"
    check_level(level)
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"need one row of counts per sample, got shape {matrix.shape}")
    units = rows_by_cluster(matrix, groups)[0]
    distinct, counts = row_histogram(units) if counts is None else (units, counts)
    n = int(counts.sum())
    if n < 2:
        return too_few(method, level, n, "sample")
    draws = statistic(resampled_sums(distinct, counts, resamples, np.random.default_rng(seed)))
    estimate = float(statistic((counts @ distinct)[None, :])[0])
    return interval_of_draws(draws, estimate, expanded_tails(level, n), level=level, method=method)


def resampled_sums(distinct: Floats, counts: NDArray[np.intp], resamples: int, random: np.random.Generator) -> Floats:
    """Column sums of `resamples` resamples of the rows, given as distinct rows and how often each occurs."""
    rows, n = len(distinct), int(counts.sum())
    if rows <= _BINS or n <= _EXACT_ROWS:
        return _multinomial_sums(distinct, counts, n, resamples, random)
    return _poisson_sums(np.repeat(distinct, counts, axis=0) if n > rows else distinct, resamples, random)


def interval_of_draws(
    draws: Floats, estimate: float, tails: tuple[float, float], *, level: float, method: str
) -> Interval:
    """The interval between two percentiles of resampled statistics."""
    defined = draws[np.isfinite(draws)]
    if len(defined) < (1.0 - _UNDEFINED_SHARE) * len(draws) or not math.isfinite(estimate):
        share = 1.0 - len(defined) / len(draws)
        return no_interval(method, level, f"the statistic is undefined in {share:.0%} of the resamples")
    if defined.min() == defined.max():
        return no_interval(method, level, "every resample gives the same value, so there is no spread to judge by")
    # position p(R+1): the default position p(R−1) pulls the tails inwards
    low, high = np.quantile(defined, tails, method="weibull")
    return Interval(
        low=float(low),
        high=float(high),
        level=level,
        method=method,
        standard_error=float(defined.std(ddof=1)),
    )


def divide(numerator: Floats, denominator: Floats) -> Floats:
    """Elementwise ratio, NaN where the denominator is 0: a resample in which the statistic is undefined."""
    ratio = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=ratio, where=denominator != 0)
    return ratio


def expanded_tails(level: float, n: int) -> tuple[float, float]:
    """Percentiles moved outwards by what resamples of few units lack (Hesterberg 2015, section 3.3).

    The plain ones are too narrow for few samples, as if a normal quantile were used where Student's t belongs.
    """
    low = normal_cdf(math.sqrt(n / (n - 1)) * student_t_quantile(0.5 - level / 2.0, n - 1))
    return low, 1.0 - low


def row_histogram(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Distinct rows in a fixed order and their counts, so that resamples do not depend on the order of samples."""
    if not len(rows):
        return rows, np.zeros(0, dtype=np.intp)
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)])
    return ordered[starts], np.diff(np.r_[starts, len(ordered)])


def _multinomial_sums(
    distinct: Floats, counts: NDArray[np.intp], n: int, resamples: int, random: np.random.Generator
) -> Floats:
    shares = counts / n
    per_chunk = max(1, _CHUNK_CELLS // len(distinct))
    return np.concatenate(
        [
            random.multinomial(n, shares, size=min(per_chunk, resamples - start)) @ distinct
            for start in range(0, resamples, per_chunk)
        ]
    )


def _poisson_sums(rows: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """Poisson(1) weights from a lookup table over 16 random bits, times the rows, a block of rows at a time."""
    table = _poisson_table()
    block = max(256, _CHUNK_CELLS // resamples)
    sums = np.zeros((resamples, rows.shape[1]))
    for first in range(0, len(rows), block):
        part = rows[first : first + block].astype(np.float32)
        bits = random_bytes(random, 2 * resamples * len(part)).view(np.uint16)
        sums += table.take(bits, mode="wrap").reshape(resamples, len(part)) @ part
    return sums


def random_bytes(random: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """`count` random bytes, drawn eight at a time: several times faster than one at a time."""
    words = random.integers(0, 2**64 - 1, size=-(-count // 8), dtype=np.uint64, endpoint=True)
    return words.view(np.uint8)[:count]


def _poisson_table() -> np.ndarray[Any, np.dtype[np.float32]]:
    """65,536 equally likely weights whose frequencies are those of Poisson(1)."""
    mass = np.exp(-1.0) / np.array([math.factorial(k) for k in range(12)], dtype=np.float64)
    edges = np.rint(np.cumsum(mass) * 65_536).astype(np.int64)
    return np.searchsorted(edges, np.arange(65_536), side="right").astype(np.float32)
