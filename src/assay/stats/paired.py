"""Two runs on the same samples: how much they differ, how sure that is, and whether chance explains it.

Pairing by sample removes what the two runs share, the difficulty of the questions, and so reveals differences that two
separate intervals hide. The difference is always second minus first: positive means that the second is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from assay.stats.intervals import (
    Floats,
    Interval,
    around,
    as_floats,
    check_level,
    cluster_codes,
    cluster_degrees,
    clustered_mean_interval,
    is_binary,
    mean_interval,
    no_interval,
    robust_error,
    sums_by_cluster,
)
from assay.stats.mcnemar_power import detectable_share_difference
from assay.stats.permutation import permutation_test
from assay.stats.quantiles import binomial_half_tail, normal_quantile, student_t_quantile, student_t_tail

MCNEMAR = "mcnemar-exact"
CLUSTERED_T = "clustered-t"
FEW_CLUSTERS = 6
"""Below this many, flipping the signs of clusters gives no p-value under 0.06."""


class PairedComparison(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a diff says about one measure of two runs."""

    n: int
    """Pairs compared."""
    clusters: int | None = None
    """The clusters that the pairs come in; None when every pair is independent."""
    first: float | None
    second: float | None
    """The two means, over the same pairs."""
    difference: float | None
    interval: Interval
    """Excludes 0 if and only if the test, corrected where it was, finds a difference."""
    p_value: float | None
    test: str
    """`mcnemar-exact`, `permutation-exact`, `permutation` with its resamples and seed, or `clustered-t`."""
    wins: int = 0
    """Pairs in which the second is better."""
    losses: int = 0
    ties: int = 0
    effect_sizes: dict[str, float] = {}
    """`cohen_dz` where there is spread; `cohen_h` and `odds_ratio` for right/wrong answers."""
    minimum_detectable_effect: float | None = None
    """The true difference this many pairs would find with the stated power, at the level of the test; None when they
    would find none, however large.
    """
    least_p: float | None = None
    """The smallest p-value possible with this many pairs or clusters: all of them moving one way."""
    least_p_drop: float | None = None
    """The smallest one-sided p-value that a drop could have: everything lost. None where there is nothing to lose."""
    degrees: float | None = None
    """Degrees of freedom of the interval's standard error; None where it is normal."""
    scale: bool = False
    """Whether all scores lie in [0, 1], so that no difference is larger than 1."""
    power: float = 0.8
    signature: str = ""
    reason: str | None = None
    """Why there is no difference to report, when there is none."""

    @property
    def p_drop(self) -> float | None:
        """One-sided: the chance of so large a drop, or a larger one, if nothing had changed."""
        return None if self.p_value is None else one_sided(self.p_value, self.difference or 0.0)


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

    Right/wrong answers: Bonett–Price interval and McNemar's exact test. Other scores, or clusters: the graded form of
    that interval (t of the differences where scores have no scale) and a sign-flip permutation test that flips whole
    clusters. Fewer than six clusters can never be significant that way: there the test is the cluster-robust t, and
    never surer than if every pair stood alone.
    """
    check_level(level)
    before, after = _aligned(first, second)
    n = len(before)
    if n == 0:
        reason = "no sample was scored in both runs"
        empty = no_interval("t", level, reason)
        return PairedComparison(
            n=0, first=None, second=None, difference=None, interval=empty, p_value=None, test="none", reason=reason
        )
    binary = is_binary(before) and is_binary(after)
    scale = _in_unit(before) and _in_unit(after)
    wins, losses = int((after > before).sum()), int((after < before).sum())
    clusters = None if groups is None else cluster_codes(groups, n)[1]
    differences = _differences(before, after)
    pairs = _Pairs(differences, groups, clusters or n, binary=binary, scale=scale, level=level)
    interval, degrees = _interval(pairs)
    test, p_value = _test(pairs, wins, losses, interval, degrees, seed=seed, resamples=resamples)
    comparison = PairedComparison(
        n=n,
        clusters=clusters,
        first=float(before.mean()),
        second=float(after.mean()),
        difference=float(differences.mean()),
        interval=interval,
        p_value=p_value,
        test=test,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        effect_sizes=_effect_sizes(before, after, differences, wins, losses, binary),
        least_p=_least_p(pairs, test, degrees),
        least_p_drop=_least_p_drop(pairs, before, test),
        degrees=degrees,
        scale=scale,
        power=power,
        signature=f"paired|{interval.method}|{test}|level={level:g}",
    )
    agreed = agreeing(interval, comparison.difference or 0.0, p_value, significant=p_value < 1.0 - level)
    return replace(comparison, interval=agreed, minimum_detectable_effect=detectable(comparison, level))


class Corrected(Struct, frozen=True, kw_only=True):
    """One of several comparisons, corrected by Holm for their number."""

    comparison: PairedComparison
    """With the interval and the detectable difference that belong to the corrected test."""
    adjusted_p: float
    significant: bool


def corrected(comparisons: Sequence[PairedComparison], level: float, others: Sequence[float] = ()) -> list[Corrected]:
    """The comparisons of one report, corrected together by Holm; `others` are further p-values that count."""
    p_values = [1.0 if each.p_value is None else each.p_value for each in comparisons]
    adjusted = holm([*p_values, *others])
    hardest = 1.0 - (1.0 - level) / max(1, len(adjusted))
    results = []
    for comparison, raw, p in zip(comparisons, p_values, adjusted, strict=False):
        significant = p < 1.0 - level
        interval = agreeing(comparison.interval, comparison.difference or 0.0, raw, significant=significant)
        result = replace(comparison, interval=interval, minimum_detectable_effect=detectable(comparison, hardest))
        results.append(Corrected(comparison=result, adjusted_p=p, significant=significant))
    return results


def agreeing(interval: Interval, difference: float, p_value: float, *, significant: bool) -> Interval:
    """The interval, widened to include 0 where the test finds nothing.

    Where the test is the surer of the two, the interval is narrowed to match: it ends at the difference less as many of
    the test's own standard errors as the level requires.
    """
    if interval.low is None or interval.high is None:
        return interval
    low, high = interval.low, interval.high
    if not significant:
        low, high = min(low, 0.0), max(high, 0.0)
    elif low <= 0.0 <= high and difference != 0.0:
        remaining = 1.0 - normal_quantile(0.5 + interval.level / 2.0) / -normal_quantile(max(p_value, 1e-300) / 2.0)
        end = difference * max(remaining, 1e-6)
        low, high = (end, high) if difference > 0.0 else (low, end)
    return replace(interval, low=low, high=high)


def one_sided(p_value: float, difference: float) -> float:
    """The p-value on the side of a drop, for a test with a symmetric distribution."""
    return p_value / 2.0 if difference < 0.0 else 1.0 - p_value / 2.0


def paired_share_difference(wins: int, losses: int, n: int, level: float = 0.95) -> Interval:
    """Interval of the difference of two paired shares of right answers (Bonett & Price 2012).

    Adding one win and one loss before the normal approximation keeps coverage near the nominal level for small n, and
    the width above 0 when the runs never disagree.
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


def paired_score_difference(
    differences: ArrayLike, groups: ArrayLike | Sequence[Any] | None = None, level: float = 0.95
) -> Interval:
    """Interval of the mean difference of scores in [0, 1]: Bonett and Price's for scores between right and wrong.

    Adds one win and one loss (pairs, or clusters of the usual size) as large as the largest seen, or as large as
    possible while fewer than six differ, since those say little about the others. For right/wrong answers it is their
    interval with t in place of the normal quantile.
    """
    check_level(level)
    values = as_floats(differences)
    sums, sizes = sums_by_cluster(values, groups)
    method = "graded-bonett-price" if groups is None else "clustered-bonett-price"
    units, difference = len(sums), float(values.mean())
    if units < 2:
        return no_interval(method, level, "one pair, or one cluster, has no spread to judge by")
    centre, error = difference * units / (units + 2.0), _error_with_two_more(sums, sizes)
    reach = student_t_quantile(0.5 + level / 2.0, cluster_degrees(sizes)) * error
    unpadded = robust_error(sums, sizes)
    return Interval(
        low=max(-1.0, min(centre - reach, difference)),
        high=min(1.0, max(centre + reach, difference)),
        level=level,
        method=method,
        # the test does not add the two, unless nothing varies
        standard_error=unpadded if unpadded > 0.0 else error,
    )


def _error_with_two_more(sums: Floats, sizes: Floats) -> float:
    units, total = len(sums), float(sizes.sum())
    usual = total / units
    differing = int((sums != 0.0).sum())
    end = 1.0 if differing < FEW_CLUSTERS else min(1.0, float(np.abs(sums).max()) / usual)
    centre = float(sums.sum()) / total * units / (units + 2.0)
    pull = (1.0 - 1.0 / units) / (1.0 - sizes / total)
    squares = float((pull * (sums - centre * sizes) ** 2).sum())
    squares += usual**2 * ((end - centre) ** 2 + (end + centre) ** 2)
    return math.sqrt(squares) / (total + 2.0 * usual)


@lru_cache(maxsize=4096)
def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p-value of McNemar's test: are b pairs one way and c the other as likely as coin flips?"""
    if b < 0 or c < 0:
        raise ValueError(f"counts of discordant pairs cannot be negative, got {b} and {c}")
    if b == c:
        return 1.0
    return min(1.0, 2.0 * binomial_half_tail(min(b, c), b + c))


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
    """Odds that a pair that differs favours the second; None when there is no loss to divide by."""
    return wins / losses if losses else None


def minimum_detectable_effect(
    error: float, degrees: float | None = None, level: float = 0.95, power: float = 0.8
) -> float:
    """The smallest true mean difference that is found with this power: (t₁₋α⁄₂ + t_power) standard errors of it."""
    check_level(level)
    if not 0.0 < power < 1.0:
        raise ValueError(f"power must lie between 0 and 1, such as 0.8; got {power!r}")
    tails = 0.5 + level / 2.0, power
    if degrees is None:
        return math.fsum(normal_quantile(p) for p in tails) * error
    return math.fsum(student_t_quantile(p, degrees) for p in tails) * error


def detectable(pairs: PairedComparison, level: float) -> float | None:
    """The true difference that this comparison's test would find at this level; None when it would find none, however
    large.
    """
    if pairs.test == MCNEMAR:
        return detectable_share_difference(pairs.wins, pairs.losses, pairs.n, level, pairs.power)
    error = pairs.interval.standard_error
    if error is None or pairs.least_p is None or pairs.least_p > 1.0 - level:
        return None
    least = minimum_detectable_effect(error, pairs.degrees, level, pairs.power)
    if pairs.test != CLUSTERED_T and 1.0 - level < 3.0 * pairs.least_p:
        # only all of them moving one way is significant
        units = pairs.clusters or pairs.n
        least = max(least, normal_quantile(pairs.power ** (1.0 / units)) * error * math.sqrt(units))
    return None if pairs.scale and least > 1.0 else least


class _Pairs(NamedTuple):
    """The differences of a comparison, and what they are."""

    differences: Floats
    groups: ArrayLike | Sequence[Any] | None
    units: int
    """Clusters, or independent pairs."""
    binary: bool
    scale: bool
    level: float

    @property
    def few_clusters(self) -> bool:
        return self.groups is not None and 2 <= self.units < FEW_CLUSTERS


def _interval(pairs: _Pairs) -> tuple[Interval, float | None]:
    """The interval of the mean difference and its degrees of freedom."""
    values, groups, level = pairs.differences, pairs.groups, pairs.level
    if pairs.binary and groups is None:
        wins, losses = int((values > 0.0).sum()), int((values < 0.0).sum())
        return paired_share_difference(wins, losses, len(values), level), None
    sizes = sums_by_cluster(values, groups)[1]
    degrees = cluster_degrees(sizes) if len(sizes) > 1 else 1.0
    if pairs.few_clusters and pairs.scale:
        return _few_clusters(pairs, degrees), degrees
    if pairs.scale:
        return paired_score_difference(values, groups, level), degrees
    return mean_interval(values, level) if groups is None else clustered_mean_interval(values, groups, level), degrees


def _few_clusters(pairs: _Pairs, degrees: float) -> Interval:
    """Cluster-robust t. Clusters that agree on every sample would leave no error, so it is at least that of as many
    independent pairs.
    """
    values = pairs.differences
    robust = robust_error(*sums_by_cluster(values, pairs.groups))
    error = max(robust, _error_with_two_more(values, np.ones(len(values))))
    interval = around(float(values.mean()), error, degrees, n=len(values), level=pairs.level, method=CLUSTERED_T)
    return interval.clipped(-1.0, 1.0)


def _test(
    pairs: _Pairs,
    wins: int,
    losses: int,
    interval: Interval,
    degrees: float | None,
    *,
    seed: int,
    resamples: int | None,
) -> tuple[str, float]:
    if pairs.binary and pairs.groups is None:
        return MCNEMAR, mcnemar_exact(wins, losses)
    if not pairs.few_clusters:
        return permutation_test(pairs.differences, groups=pairs.groups, seed=seed, resamples=resamples)
    if wins == losses == 0:
        return CLUSTERED_T, 1.0
    # however much clusters agree, their pairs say no more than as many independent ones
    alone = mcnemar_exact(wins, losses) if pairs.binary else permutation_test(pairs.differences, seed=seed)[1]
    if not interval.standard_error or degrees is None:
        return CLUSTERED_T, alone
    t = abs(float(pairs.differences.mean())) / interval.standard_error
    return CLUSTERED_T, max(alone, min(1.0, 2.0 * student_t_tail(t, degrees)))


def _least_p(pairs: _Pairs, test: str, degrees: float | None) -> float:
    """The p-value if every pair had moved one way by as much as possible."""
    alone = 2.0 ** (1 - (len(pairs.differences) if test == CLUSTERED_T else pairs.units))
    if test != CLUSTERED_T or degrees is None or not pairs.scale:
        return alone
    everything = np.ones(len(pairs.differences))
    error = _error_with_two_more(everything, everything)
    return max(alone, 2.0 * student_t_tail(1.0 / error, degrees))


def _least_p_drop(pairs: _Pairs, before: Floats, test: str) -> float | None:
    """The one-sided p-value if the second run had lost all that the first had; without a scale a drop is unlimited."""
    if not pairs.scale:
        return 2.0 ** -(len(before) if test == CLUSTERED_T else pairs.units)
    if not before.any():
        return None
    if test == CLUSTERED_T:
        lost = pairs._replace(differences=-before)
        interval, degrees = _interval(lost)
        return _test(lost, 0, int((before > 0.0).sum()), interval, degrees, seed=0, resamples=None)[1] / 2.0
    return 2.0 ** -int((sums_by_cluster(before, pairs.groups)[0] > 0.0).sum())


def _differences(before: Floats, after: Floats) -> Floats:
    """Second minus first. Differences that vary by rounding alone become one number, so that rounding does not pass for
    spread and give an interval without a width.
    """
    differences = after - before
    largest = max(before.max(), after.max(), -before.min(), -after.min())
    rounding = 4.0 * np.finfo(np.float64).eps * largest
    return np.full_like(differences, np.median(differences)) if np.ptp(differences) <= rounding else differences


def _in_unit(values: Floats) -> bool:
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def _aligned(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    before, after = as_floats(first), as_floats(second)
    if len(before) != len(after):
        raise ValueError(f"paired scores must be aligned: {len(before)} in the first, {len(after)} in the second")
    return before, after


def _effect_sizes(
    before: Floats, after: Floats, differences: Floats, wins: int, losses: int, binary: bool
) -> dict[str, float]:
    sizes = {"cohen_dz": cohen_dz(differences)}
    if binary:
        sizes["cohen_h"] = cohen_h(float(before.mean()), float(after.mean()))
        sizes["odds_ratio"] = odds_ratio(wins, losses)
    return {name: size for name, size in sizes.items() if size is not None}
