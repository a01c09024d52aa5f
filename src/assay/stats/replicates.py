"""Two runs compared by a number that is no mean and no sum: over resamples that are the same in both.

A quantile is computed here, from the values of both. What only its author's code can compute was computed over
resamples when each run ended; those are the same where both runs have the same samples, so that they can be subtracted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from assay.stats.intervals import Floats, check_level, cluster_codes
from assay.stats.leaving_out import hangs_on, left_out
from assay.stats.paired import PairedComparison, refused
from assay.stats.replicate_pairs import ReplicatePairs

FEWEST = 100
"""Samples, or groups: with fewer, resamples say too little about a number of any kind."""
UNDEFINED = 0.05
_RESAMPLES = 1000
_MOST_BLOCKS = 2000
_CHUNK_CELLS = 1 << 22


class Replicates(Struct, frozen=True, kw_only=True):
    """A number, and the same over resamples."""

    value: float
    draws: Sequence[float | None]
    """None where a resample has no such number."""
    units: int
    over: str
    """Digest of the samples, or groups, that were resampled: equal where two runs drew the same ones."""
    reason: str | None = None
    """Why there are no draws."""


def compare_replicates(
    first: Replicates, second: Replicates, *, n: int, lower_is_better: bool = False, level: float = 0.95
) -> PairedComparison:
    """Compare two numbers by their replicates; `n` is how many samples both are over."""
    check_level(level)
    if first.over != second.over or first.units != second.units:
        return refused("the two scores are not over the same samples, or groups of them", level)
    if why := first.reason or second.reason:
        return refused(why, level)
    if first.units < FEWEST:
        reason = f"it was computed over resamples of {first.units:,} samples or groups, and a test needs {FEWEST}"
        return refused(reason, level)
    count = min(len(first.draws), len(second.draws))  # the first ones are the same
    sides = [np.array([np.nan if draw is None else draw for draw in each.draws[:count]]) for each in (first, second)]
    sign = -1.0 if lower_is_better else 1.0
    return _compared(sign * first.value, sign * second.value, sign * sides[0], sign * sides[1], n, first.units, level)


def compare_quantiles(
    first: Floats,
    second: Floats,
    q: float,
    *,
    lower_is_better: bool = False,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
) -> PairedComparison:
    """Compare the q-quantiles of two aligned lists of values, one of each per sample."""
    check_level(level)
    n = len(first)
    codes, units = (np.arange(n), n) if groups is None else cluster_codes(groups, n)
    if units < FEWEST:
        unit = "samples" if groups is None else "groups"
        return refused(f"a test of a quantile resamples, and {units:,} {unit} are fewer than {FEWEST}", level)
    for values in (first, second):
        without = [float(np.quantile(values[codes != unit], q)) for unit in left_out(units)]
        if why := hangs_on(without, float(np.quantile(values, q))):
            return refused(f"the score of one of the two is not tested: {why}", level)
    random = np.random.default_rng(0)
    if units > _MOST_BLOCKS:  # as sure, and far sooner
        codes, blocks = random.permutation(units)[codes] % _MOST_BLOCKS, _MOST_BLOCKS
    else:
        blocks = units
    sides = [_quantiles(values, q, codes, blocks) for values in (first, second)]
    sign = -1.0 if lower_is_better else 1.0
    before, after = (sign * float(np.quantile(each, q)) for each in (first, second))
    return _compared(before, after, sign * sides[0], sign * sides[1], n, units, level, groups is not None)


def _quantiles(values: Floats, q: float, codes: NDArray[np.intp], blocks: int) -> Floats:
    """The quantile over each resample of the blocks; the same resamples at every call."""
    random, order = np.random.default_rng(1), np.argsort(values, kind="stable")
    ordered, own = values[order], codes[order]
    chunk, found = max(1, _CHUNK_CELLS // max(len(values), blocks)), []
    for start in range(0, _RESAMPLES, chunk):
        weights = random.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=min(chunk, _RESAMPLES - start))
        for below in weights[:, own].cumsum(axis=1):
            rank = q * (below[-1] - 1.0)
            low, high = np.searchsorted(below, [math.floor(rank), math.ceil(rank)], side="right")
            share = rank - math.floor(rank)
            found.append((1.0 - share) * ordered[low] + share * ordered[high])
    return np.array(found)


def _compared(
    before: float, after: float, first: Floats, second: Floats, n: int, units: int, level: float, grouped: bool = False
) -> PairedComparison:
    if not (math.isfinite(before) and math.isfinite(after)):
        return refused("one of the two scores is no finite number", level)
    defined = np.isfinite(first) & np.isfinite(second)
    if defined.sum() < (1.0 - UNDEFINED) * len(first):
        return refused(f"in {1.0 - defined.mean():.0%} of the resamples one of the two has no score", level)
    first, second = first[defined], second[defined]
    differences = np.sort(second - first)
    evidence = ReplicatePairs(after - before, tuple(differences.tolist()), units, first=before)
    interval = evidence.interval(level)
    return PairedComparison(
        n=n,
        clusters=units if grouped else None,
        first=before,
        second=after,
        difference=after - before,
        interval=interval,
        margin_interval=evidence.margin_interval(level),
        p_value=evidence.p_value,
        p_drop=evidence.p_values()[1],
        test=evidence.test,
        evidence=evidence,
        minimum_detectable_effect=evidence.detectable(level, 0.8),
        least_p_drop=evidence.least_p_drop,
        signature=f"paired|{interval.method}|{evidence.test}|level={level:g}",
    )
