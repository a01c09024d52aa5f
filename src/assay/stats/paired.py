"""Two runs on the same samples: how much they differ, how sure that is, and whether chance explains it.

Pairing by sample removes what the two runs share, the difficulty of the questions, and so sees differences that two
separate intervals hide. Everywhere the difference is second minus first, so positive means the second is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.stats.bootstrap import random_bytes
from assay.stats.intervals import (
    Floats,
    Interval,
    as_floats,
    check_level,
    cluster_codes,
    clustered_mean_interval,
    is_binary,
    mean_interval,
    no_interval,
)
from assay.stats.quantiles import binomial_half_tail, normal_quantile

EXACT_FLIPS = 16
"""So many differences at most are flipped in every possible way."""
_FEW_DISTINCT = 4096
_CHUNK_CELLS = 1 << 21


class PairedComparison(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a diff says about one measure of two runs."""

    n: int
    """Pairs compared."""
    clusters: int | None = None
    """The clusters that the pairs come in; None when every pair stands alone."""
    first: float | None
    second: float | None
    """The two means, over the same pairs."""
    difference: float | None
    interval: Interval
    p_value: float | None
    test: str
    """`mcnemar-exact`, `permutation-exact`, or `permutation` with its resamples and seed."""
    wins: int = 0
    """Pairs in which the second is better."""
    losses: int = 0
    ties: int = 0
    effect_sizes: dict[str, float] = {}
    """`cohen_dz` always where there is spread; `cohen_h` and `odds_ratio` for right/wrong answers."""
    minimum_detectable_effect: float | None = None
    """The true difference this many pairs would find with the stated power."""
    power: float = 0.8
    signature: str = ""
    reason: str | None = None
    """Why there is no difference to report, when there is none."""


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
    power: float = 0.8,
    seed: int = 0,
    resamples: int | None = None,
) -> PairedComparison:
    """Compare two aligned lists of scores, one pair per sample (or attempt, with the sample as its group).

    Right/wrong answers: Bonett–Price interval and McNemar's exact test. Other scores, or clusters: t interval of the
    differences (cluster-robust with groups) and a sign-flip permutation test that flips whole clusters.
    """
    check_level(level)
    before, after = _aligned(first, second)
    n = len(before)
    if n == 0:
        nothing = "no sample was scored in both runs"
        empty = no_interval("t", level, nothing)
        return PairedComparison(
            n=0, first=None, second=None, difference=None, interval=empty, p_value=None, test="none", reason=nothing
        )
    binary = is_binary(before) and is_binary(after)
    wins, losses = int((after > before).sum()), int((after < before).sum())
    if binary and groups is None:
        interval = paired_share_difference(wins, losses, n, level)
        test, p_value = "mcnemar-exact", mcnemar_exact(wins, losses)
    else:
        interval = mean_difference(before, after, groups=groups, level=level)
        test, p_value = permutation_test(after - before, groups=groups, seed=seed, resamples=resamples)
    return PairedComparison(
        n=n,
        clusters=None if groups is None else cluster_codes(groups, n)[1],
        first=float(before.mean()),
        second=float(after.mean()),
        difference=float((after - before).mean()),
        interval=interval,
        p_value=p_value,
        test=test,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        effect_sizes=_effect_sizes(before, after, wins, losses, binary),
        minimum_detectable_effect=_detectable(before, after, groups, level, power),
        power=power,
        signature=f"paired|{interval.method}|{test}|level={level:g}",
    )


def mean_difference(
    first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | Sequence[Any] | None = None, level: float = 0.95
) -> Interval:
    """Interval of the mean difference from the standard error of the paired differences, clustered with groups."""
    before, after = _aligned(first, second)
    if groups is not None:
        return clustered_mean_interval(after - before, groups, level)
    return mean_interval(after - before, level)


def paired_share_difference(wins: int, losses: int, n: int, level: float = 0.95) -> Interval:
    """Interval of the difference of two paired shares of right answers (Bonett & Price 2012).

    One win and one loss are added before the normal approximation, which keeps coverage near the nominal level for
    small n and a width when the runs never disagree.
    """
    check_level(level)
    if wins < 0 or losses < 0 or wins + losses > n:
        raise ValueError(f"need wins + losses <= n, got {wins} + {losses} of {n}")
    if n == 0:
        return no_interval("bonett-price", level, "no sample was scored in both runs")
    gained, lost = (wins + 1.0) / (n + 2.0), (losses + 1.0) / (n + 2.0)
    error = math.sqrt((gained + lost - (gained - lost) ** 2) / (n + 2.0))
    reach = normal_quantile(0.5 + level / 2.0) * error
    difference = (wins - losses) / n
    # the centre is shrunk towards 0; at low levels the plain difference could fall outside
    return Interval(
        low=max(-1.0, min(gained - lost - reach, difference)),
        high=min(1.0, max(gained - lost + reach, difference)),
        level=level,
        method="bonett-price",
        standard_error=error,
    )


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p-value of McNemar's test: are b pairs one way and c the other as likely as coin flips?"""
    if b < 0 or c < 0:
        raise ValueError(f"counts of discordant pairs cannot be negative, got {b} and {c}")
    if b == c:
        return 1.0
    return min(1.0, 2.0 * binomial_half_tail(min(b, c), b + c))


def permutation_test(
    differences: ArrayLike,
    *,
    groups: ArrayLike | Sequence[Any] | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> tuple[str, float]:
    """The sign-flip test that the mean difference is 0: its name, as a signature tells it, and its two-sided p-value.

    Exact over all sign patterns while at most 16 differences are not 0; beyond that Monte Carlo, (count + 1) /
    (resamples + 1), so it is never 0. With groups a whole cluster flips at once.
    """
    units = as_floats(differences)
    if groups is not None:
        codes, clusters = cluster_codes(groups, len(units))
        units = np.asarray(np.bincount(codes, weights=units, minlength=clusters), dtype=np.float64)
    sizes = np.sort(np.abs(units[units != 0.0]))
    observed = abs(math.fsum(units))
    # a sum that equals the observed one but for rounding counts as equal
    threshold = observed - 1e-12 * float(sizes.sum())
    if len(sizes) <= EXACT_FLIPS:
        return "permutation-exact", _exact_share(sizes, threshold)
    distinct, counts = np.unique(sizes, return_counts=True)
    few = len(distinct) <= _FEW_DISTINCT
    number = resamples or (10_000 if few or len(sizes) <= 20_000 else 1000)
    random = np.random.default_rng(seed)
    sums = _flipped_histogram(distinct, counts, number, random) if few else _flipped(sizes, number, random)
    extreme = int((np.abs(sums) >= threshold).sum())
    return f"permutation|n={number}|seed={seed}", (extreme + 1) / (number + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given: the chance of any false alarm stays below the level."""
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("p-values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return [float(value) for value in adjusted]


def cohen_dz(differences: ArrayLike) -> float | None:
    """Mean difference in units of the standard deviation (n − 1) of the differences; None without spread."""
    values = as_floats(differences)
    if len(values) < 2 or values.min() == values.max():
        return None
    return float(values.mean() / values.std(ddof=1))


def cohen_h(first: float, second: float) -> float:
    """Difference of two shares on the arcsine scale, where 0.2, 0.5 and 0.8 read small, medium, large."""
    return 2.0 * (math.asin(math.sqrt(second)) - math.asin(math.sqrt(first)))


def odds_ratio(wins: int, losses: int) -> float | None:
    """Odds that a pair which differs differs in favour of the second; None when there is no loss to divide by."""
    return wins / losses if losses else None


def minimum_detectable_effect(
    sd_of_differences: float, n: int, level: float = 0.95, power: float = 0.8
) -> float | None:
    """The smallest true mean difference that n pairs find significant with this power: (z₁₋α⁄₂ + z_power)·sd/√n."""
    if n < 2:
        return None
    return _reach(level, power) * sd_of_differences / math.sqrt(n)


def _aligned(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    before, after = as_floats(first), as_floats(second)
    if len(before) != len(after):
        raise ValueError(f"paired scores must be aligned: {len(before)} in the first, {len(after)} in the second")
    return before, after


def _effect_sizes(before: Floats, after: Floats, wins: int, losses: int, binary: bool) -> dict[str, float]:
    sizes = {"cohen_dz": cohen_dz(after - before)}
    if binary:
        sizes["cohen_h"] = cohen_h(float(before.mean()), float(after.mean()))
        sizes["odds_ratio"] = odds_ratio(wins, losses)
    return {name: size for name, size in sizes.items() if size is not None}


def _detectable(
    before: Floats, after: Floats, groups: ArrayLike | Sequence[Any] | None, level: float, power: float
) -> float | None:
    error = mean_difference(before, after, groups=groups, level=level).standard_error
    return None if error is None else _reach(level, power) * error


def _reach(level: float, power: float) -> float:
    check_level(level)
    if not 0.0 < power < 1.0:
        raise ValueError(f"power lies between 0 and 1, such as 0.8; got {power!r}")
    return normal_quantile(0.5 + level / 2.0) + normal_quantile(power)


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
