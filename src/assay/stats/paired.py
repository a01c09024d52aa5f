"""Two runs on the same samples: how much they differ, how sure that is, and whether chance explains it.

Pairing by sample removes what the two runs share, the difficulty of the questions, and so reveals differences that two
separate intervals hide. The difference is always second minus first: positive means that the second is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from assay.stats.guarded import (
    SkewedT,
    Spread,
    detectable_mean,
    enlarged,
    guarded_interval,
    guarded_power,
    mirrored,
    p_above,
    p_values,
    skewed_t,
    spread_of,
)
from assay.stats.intervals import Floats, Interval, as_floats, check_level, is_binary, no_interval, sums_by_cluster
from assay.stats.mcnemar_power import detectable_share_difference, pairs_to_find
from assay.stats.permutation import permutation_test
from assay.stats.quantiles import binomial_half_tail, normal_quantile, student_t_quantile
from assay.stats.search import fewest

MCNEMAR = "mcnemar-exact"


class AnswerPairs(Struct, frozen=True, tag=MCNEMAR):
    """Independent pairs of right and wrong answers: McNemar's exact test, with the interval that agrees with it."""

    wins: int
    losses: int
    n: int
    right: int
    """How many of the first were right, and could be lost."""

    @property
    def spread(self) -> Spread:
        """That of the mean of 1 for a win and −1 for a loss."""
        return _spread_of_counts({1.0: self.wins, -1.0: self.losses, 0.0: self.n - self.wins - self.losses})

    @property
    def had(self) -> Spread:
        return _spread_of_counts({1.0: self.right, 0.0: self.n - self.right})

    def interval(self, level: float) -> Interval:
        interval = paired_share_difference(self.wins, self.losses, self.n, level)
        difference = (self.wins - self.losses) / self.n
        return agreeing(interval, difference, mcnemar_exact(self.wins, self.losses))

    def no_drop_interval(self, level: float) -> Interval:
        """The interval with the lower end that a claim of no drop may rest on.

        That is the lower of the interval's own end and Tango's (1998), which uses the spread that a drop of that size
        would have. Where answers are lost and none gained, the interval alone would miss a true drop of the margin in
        up to 6 % of runs.
        """
        interval = self.interval(level)
        tango = _tango_low(self.wins, self.losses, self.n, level)
        return replace(interval, low=tango if interval.low is None else min(interval.low, tango))

    def p_values(self) -> tuple[float, float]:
        """One-sided: of "the second is better", and of "worse"."""
        two_sided = mcnemar_exact(self.wins, self.losses)
        if self.wins == self.losses:
            return 0.5, 0.5
        sides = two_sided / 2.0, 1.0 - two_sided / 2.0
        return sides if self.wins > self.losses else sides[::-1]

    @property
    def least_p_drop(self) -> float | None:
        """The one-sided p-value if all that was right had been lost; None where there was nothing to lose."""
        return 2.0**-self.right if self.right else None

    def detectable(self, level: float, power: float) -> float | None:
        return detectable_share_difference(self.wins, self.losses, self.n, level, power)

    def pairs_to_find(self, difference: float, pairs: int, level: float, power: float) -> int:
        """How many pairs like these find a difference that is smaller than the detectable one."""
        return pairs_to_find(difference, min(self.wins, self.losses) / pairs, level, power)


class GuardedPairs(Struct, frozen=True, tag="guarded-t"):
    """Differences of scores on a scale, or of clusters of answers: a t test that reckons with an unseen total loss."""

    spread: Spread
    had: Spread
    """That of the first's own scores: what there was to lose."""
    reach: float = 1.0
    """The largest possible difference."""

    def interval(self, level: float) -> Interval:
        return guarded_interval(self.spread, (-self.reach, self.reach), level)

    def no_drop_interval(self, level: float) -> Interval:
        return self.interval(level)

    def p_values(self) -> tuple[float, float]:
        return p_values(self.spread, (-self.reach, self.reach))

    @property
    def least_p_drop(self) -> float | None:
        lost = mirrored(self.had)
        if not self.had.mean:
            return None
        return p_above(mirrored(lost), -self.reach) if lost.units > 1 else 1.0

    def detectable(self, level: float, power: float) -> float | None:
        return detectable_mean(self.spread, self.reach, level, power) if self.spread.units > 1 else None

    def pairs_to_find(self, difference: float, pairs: int, level: float, power: float) -> int:
        """How many pairs like these find a difference that is smaller than the detectable one."""

        def enough(count: int) -> bool:
            return guarded_power(enlarged(self.spread, count / pairs), difference, self.reach, level) >= power

        return fewest(enough, least=pairs)


class OpenPairs(Struct, frozen=True, tag="skewed-t"):
    """Differences of values without a scale, such as seconds: t, corrected for the skewness that was seen."""

    spread: SkewedT

    def interval(self, level: float) -> Interval:
        return self.spread.interval(level)

    def no_drop_interval(self, level: float) -> Interval:
        return self.interval(level)

    def p_values(self) -> tuple[float, float]:
        return self.spread.p_values()

    @property
    def least_p_drop(self) -> float | None:
        return 0.0 if self.spread.units > 1 else 1.0  # without a scale a drop is unlimited

    def detectable(self, level: float, power: float) -> float | None:
        if not self.spread.error:
            return None
        return minimum_detectable_effect(self.spread.error, self.spread.degrees, level, power)

    def pairs_to_find(self, difference: float, pairs: int, level: float, power: float) -> int:
        """How many pairs like these find a difference that is smaller than the detectable one."""
        least = minimum_detectable_effect(self.spread.error, self.spread.degrees, level, power)
        return math.ceil(pairs * (least / difference) ** 2)


Evidence = AnswerPairs | GuardedPairs | OpenPairs


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
    """Excludes 0 if and only if the test finds a difference; of several comparisons, at the level that Holm's
    correction leaves for this one."""
    no_drop_interval: Interval
    """At the level of the report, with the lower end that a claim of no drop may rest on."""
    p_value: float | None
    p_drop: float | None = None
    """One-sided: the chance of so large a drop, or a larger one, if nothing had changed."""
    test: str
    """`mcnemar-exact`, `guarded-t` or `skewed-t`."""
    evidence: Evidence | None = None
    """What the test and the interval are made from."""
    wins: int = 0
    """Pairs in which the second is better."""
    losses: int = 0
    ties: int = 0
    p_of_changes: float | None = None
    """Of the sign-flip test, where it finds that the changes are not chance although no other mean is shown."""
    effect_sizes: dict[str, float] = {}
    """`cohen_dz` where there is spread; `cohen_h` and `odds_ratio` for right/wrong answers."""
    minimum_detectable_effect: float | None = None
    """The true difference this many pairs would find with the stated power, at the level of the test; None when they
    would find none, however large.
    """
    least_p_drop: float | None = None
    """The smallest one-sided p-value that a drop could have: everything lost. None where there is nothing to lose."""
    scale: bool = False
    """Whether all scores lie in [0, 1], so that no difference is larger than 1."""
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
    shares: bool = True,
) -> PairedComparison:
    """Compare two aligned lists of scores, one pair per sample (or attempt, with the sample as its group).

    `shares` says that they are scores from 0 to 1; other numbers have no scale, whatever values occur.

    Right/wrong answers: McNemar's exact test and Bonett and Price's interval. Scores on a scale, or clusters: a t test
    that is guarded against a loss that was not seen. Values without a scale: a t test corrected for skewness.
    """
    check_level(level)
    before, after = _aligned(first, second)
    n = len(before)
    if n == 0:
        reason = "no sample was scored in both runs"
        empty = no_interval("t", level, reason)
        return PairedComparison(
            n=0,
            first=None,
            second=None,
            difference=None,
            interval=empty,
            no_drop_interval=empty,
            p_value=None,
            test="none",
            reason=reason,
        )
    differences = _differences(before, after)
    wins, losses = int((after > before).sum()), int((after < before).sum())
    binary = shares and is_binary(before) and is_binary(after)
    scale = shares and _in_unit(before) and _in_unit(after)
    evidence: Evidence
    if binary and groups is None:
        evidence = AnswerPairs(wins, losses, n, int(before.sum()))
    elif scale:
        evidence = GuardedPairs(spread_of(differences, groups), had=spread_of(before, groups))
    else:
        evidence = OpenPairs(skewed_t(differences, groups))
    interval, test = evidence.interval(level), type(evidence).__struct_config__.tag
    better, worse = evidence.p_values()
    p_value = min(1.0, 2.0 * min(better, worse))
    return PairedComparison(
        n=n,
        clusters=None if groups is None else len(sums_by_cluster(differences, groups)[0]),
        first=float(before.mean()),
        second=float(after.mean()),
        difference=float(differences.mean()),
        interval=interval,
        no_drop_interval=evidence.no_drop_interval(level),
        p_value=p_value,
        p_drop=worse,
        test=str(test),
        evidence=evidence,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        p_of_changes=_p_of_changes(evidence, differences, groups, p_value, level),
        effect_sizes=_effect_sizes(before, after, differences, wins, losses, binary),
        minimum_detectable_effect=evidence.detectable(level, power),
        least_p_drop=evidence.least_p_drop,
        scale=scale,
        power=power,
        signature=f"paired|{interval.method}|{test}|level={level:g}",
    )


class Corrected(Struct, frozen=True, kw_only=True):
    """One of several comparisons, corrected by Holm for their number."""

    comparison: PairedComparison
    """With the interval and the detectable difference that belong to the corrected test."""
    adjusted_p: float
    significant: bool


def corrected(comparisons: Sequence[PairedComparison], level: float, others: Sequence[float] = ()) -> list[Corrected]:
    """The comparisons of one report, corrected together by Holm; `others` are further p-values that count."""
    every = [*(1.0 if each.p_value is None else each.p_value for each in comparisons), *others]
    adjusted, levels = holm(every), holm_levels(every, level)
    hardest = 1.0 - (1.0 - level) / max(1, len(every))
    results = []
    for comparison, p, own_level in zip(comparisons, adjusted, levels, strict=False):
        result, evidence = comparison, comparison.evidence
        if evidence is not None:
            least = evidence.detectable(hardest, comparison.power)
            result = replace(comparison, interval=evidence.interval(own_level), minimum_detectable_effect=least)
        results.append(Corrected(comparison=result, adjusted_p=p, significant=p < 1.0 - level))
    return results


def agreeing(interval: Interval, difference: float, p_value: float) -> Interval:
    """The interval, moved at the end next to 0 where an exact test and it disagree about 0.

    The end then lies as far from the difference as many standard errors of the test reach: those that its p-value says
    lie between the difference and 0.
    """
    if interval.low is None or interval.high is None or difference == 0.0:
        return interval
    if (interval.low <= 0.0 <= interval.high) == (p_value >= 1.0 - interval.level):
        return interval
    reach = normal_quantile(0.5 + interval.level / 2.0)
    seen = -normal_quantile(min(max(p_value, 1e-300) / 2.0, 0.5 - 1e-12))
    end = min(1.0, max(-1.0, difference * (1.0 - reach / seen)))
    return replace(interval, low=end) if difference > 0.0 else replace(interval, high=end)


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


def holm_levels(p_values: Sequence[float], level: float) -> list[float]:
    """For each of several tests the level of the interval that says what Holm says: it excludes 0 if and only if the
    corrected test is significant. What is not significant shares what the significant ones left over.
    """
    alpha, count = 1.0 - level, len(p_values)
    significant = sum(p < alpha for p in holm(p_values))
    levels = [0.0] * count
    for rank, index in enumerate(np.argsort(np.asarray(p_values, dtype=np.float64), kind="stable").tolist()):
        levels[index] = 1.0 - alpha / (count - min(rank, significant))
    return levels


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


def _spread_of_counts(counts: Mapping[float, int]) -> Spread:
    """The spread of the mean of a few different values, from how often each occurs."""
    n = sum(counts.values())
    mean = sum(value * count for value, count in counts.items()) / n
    second, third = (sum(count * (value - mean) ** power for value, count in counts.items()) for power in (2, 3))
    return Spread(
        mean=mean,
        second=second / n / (n - 1.0) if n > 1 else 0.0,
        third=third / n**3,
        pad=1.0 / n,
        degrees=max(1.0, n - 1.0),
        units=n,
    )


def _p_of_changes(
    evidence: Evidence, differences: Floats, groups: ArrayLike | Sequence[Any] | None, p_value: float, level: float
) -> float | None:
    """The p-value of the sign-flip test where it alone finds something; its signs say nothing about the mean."""
    if not isinstance(evidence, GuardedPairs) or p_value < 1.0 - level or not differences.any():
        return None
    p_of_changes = permutation_test(differences, groups=groups)[1]
    return p_of_changes if p_of_changes < 1.0 - level else None


def _tango_low(wins: int, losses: int, n: int, level: float) -> float:
    """The smallest difference that the score test does not reject, by bisection."""
    reach = normal_quantile(0.5 + level / 2.0)
    low, high = -1.0, (wins - losses) / n
    for _ in range(60):
        middle = (low + high) / 2.0
        if _tango_score(wins, losses, n, middle) > reach:
            low = middle
        else:
            high = middle
    return low


def _tango_score(wins: int, losses: int, n: int, difference: float) -> float:
    """Standard errors between the observed difference and this one, with the share of losses most likely under it."""
    b = -wins - losses + (2.0 * n - wins + losses) * difference
    c = -losses * difference * (1.0 - difference)
    lost = (math.sqrt(max(0.0, b * b - 8.0 * n * c)) - b) / (4.0 * n)
    variance = n * (2.0 * lost + difference * (1.0 - difference))
    away = wins - losses - n * difference
    return away / math.sqrt(variance) if variance > 0.0 else math.copysign(math.inf, away) if away else 0.0


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
