"""What the pairs of two results say about their difference: one object, and the questions that every surface asks it.

Is the second better, by how much, is it worse by no more than a margin, is it the same within one, and are there enough
pairs to tell? `diff`, gates, ranks, searches and reports ask an evidence; none has a rule of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from assay.overriding import override
from assay.stats.families import Corrected
from assay.stats.guarded import (
    SkewedT,
    Spread,
    detectable_mean,
    enlarged,
    guarded_interval,
    guarded_power,
    harder_side,
    mirrored,
    p_above,
    p_values,
)
from assay.stats.intervals import Interval, check_level, no_interval
from assay.stats.mcnemar_power import detectable_share_difference, detectable_within, pairs_to_find
from assay.stats.quantiles import binomial_half_tail, normal_quantile, student_t_quantile
from assay.stats.search import fewest

MCNEMAR = "mcnemar-exact"
JACKKNIFE = "jackknife-t"


class Basis(Struct, frozen=True, kw_only=True):
    """What an answer about a difference rests on."""

    level: float
    comparisons: int
    """How many comparisons it is corrected for."""
    correction: str = "holm"
    """How: `holm`, `bh`, `by`; `every one must pass`; or `spent`, in order over all looks; `none` where nothing is
    tested.
    """
    method: str
    """The test, in words."""
    assumes: str
    would_change: str
    """What would make it another answer."""


def basis_of_drops(evidence: Sequence[PairedEvidence], level: float, *, correction: str, would_change: str) -> Basis:
    """What the answer to "did anything get worse?" rests on, over several comparisons."""
    methods, assumed = (dict.fromkeys(getattr(each, name) for each in evidence) for name in ("method", "assumes"))
    return Basis(
        level=level,
        comparisons=len(evidence),
        correction=correction,
        method=f"{' and '.join(methods)}, on the side of a drop",
        assumes="; ".join(assumed),
        would_change=would_change,
    )


def level_of_drop(level: float, p_value: float, adjusted_p: float | None, comparisons: int) -> float:
    """The level of an interval with two sides whose lower end is that of the test of a drop, at its share of Holm's."""
    # one side at α is both sides at 2α; Holm's share of it is what the p-value was multiplied by
    return 1.0 - 2.0 * (1.0 - level) * (p_value / adjusted_p if adjusted_p else 1.0 / comparisons)


def basis_of_number(level: float, would_change: str) -> Basis:
    """What the answer to "does a number hold?" rests on: the number, and no test."""
    return Basis(
        level=level,
        comparisons=1,
        correction="none",
        method="the number as measured; with every attempt that has no score wrong, and with every one right",
        assumes="nothing about other questions: it is about these",
        would_change=would_change,
    )


class Enough(NamedTuple):
    """What these pairs can find."""

    detectable: float | None
    """The true difference that they find with the stated power; None when they find none, however large."""
    needed: int | None
    """How many samples, or groups, would find a difference as large as the one seen; None where these do."""
    within: float | None = None
    """The detectable difference under the other model of the truth; None where there is none, or it is the same."""


class PairedEvidence(Struct, frozen=True):
    """What pairs say about the mean of their differences, second minus first."""

    method: ClassVar[str]
    """The test, in words."""
    assumes: ClassVar[str]

    @property
    def difference(self) -> float:
        raise NotImplementedError

    def p_values(self) -> tuple[float, float]:
        """One-sided: of "the second is better", and of "worse"."""
        raise NotImplementedError

    def interval(self, level: float) -> Interval:
        """By how much: excludes 0 if and only if the two-sided test is significant at this level."""
        raise NotImplementedError

    @property
    def least_p_drop(self) -> float | None:
        """The one-sided p-value if all that the first had were lost; None where there was nothing to lose."""
        raise NotImplementedError

    def detectable(self, level: float, power: float) -> float | None:
        """The smallest true difference that such pairs find with this power; None when they find none."""
        raise NotImplementedError

    def detectable_within(self, level: float, power: float) -> float | None:
        """The same if no more samples differ than were seen to; None where the test knows no such model."""
        return None

    def needed(self, difference: float, level: float, power: float) -> int:
        """How many samples, or groups, like these find a difference that is smaller than the detectable one."""
        raise NotImplementedError

    def undone_by(self, level: float) -> str:
        """What would undo a difference that was found at this level."""
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return min(1.0, 2.0 * min(self.p_values()))

    @property
    def test(self) -> str:
        """The name of the test in signatures and in JSON."""
        return str(type(self).__struct_config__.tag)

    def margin_interval(self, level: float) -> Interval:
        """The interval with the ends that a claim about a margin may rest on, such as "no drop beyond 0.02"."""
        return self.interval(level)

    def enough(self, corrected: Corrected, power: float) -> Enough:
        """Whether there are enough pairs to tell, at the level of the corrected test."""
        least = self.detectable(corrected.hardest_level, power)
        within = self.detectable_within(corrected.hardest_level, power)
        seen = abs(self.difference)
        if corrected.significant or least is None or not 0.0 < seen < least:
            return Enough(least, None, within)
        return Enough(least, self.needed(seen, corrected.hardest_level, power), within)

    def basis(self, corrected: Corrected, level: float, needed: int | None) -> Basis:
        """What the answer to "is the second better, or worse?" rests on."""
        more = "more samples" if needed is None else f"about {needed:,} such samples or groups, if it is what was seen"
        return Basis(
            level=level,
            comparisons=corrected.comparisons,
            correction=corrected.correction,
            method=self.method,
            assumes=self.assumes,
            would_change=self.undone_by(corrected.level) if corrected.significant else more,
        )


class AnswerPairs(PairedEvidence, frozen=True, tag=MCNEMAR):
    """Independent pairs of right and wrong answers: McNemar's exact test, with the interval that agrees with it."""

    method: ClassVar[str] = "McNemar's exact test"
    assumes: ClassVar[str] = "samples are independent of each other and stand for the questions that one cares about"

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

    @property
    @override
    def difference(self) -> float:
        return (self.wins - self.losses) / self.n

    @override
    def interval(self, level: float) -> Interval:
        interval = paired_share_difference(self.wins, self.losses, self.n, level)
        return agreeing(interval, self.difference, mcnemar_exact(self.wins, self.losses))

    @override
    def margin_interval(self, level: float) -> Interval:
        """The interval, not inside Tango's (1998), which uses the spread that a difference of that size would have.

        Where answers are lost and none gained, the interval alone would miss a true drop of the margin in up to 6 % of
        runs.
        """
        interval = self.interval(level)
        low, high = (
            _tango_low(self.wins, self.losses, self.n, level),
            -_tango_low(self.losses, self.wins, self.n, level),
        )
        return replace(
            interval,
            low=low if interval.low is None else min(interval.low, low),
            high=high if interval.high is None else max(interval.high, high),
        )

    @override
    def p_values(self) -> tuple[float, float]:
        two_sided = mcnemar_exact(self.wins, self.losses)
        if self.wins == self.losses:
            return 0.5, 0.5
        sides = two_sided / 2.0, 1.0 - two_sided / 2.0
        return sides if self.wins > self.losses else sides[::-1]

    @property
    @override
    def least_p_drop(self) -> float | None:
        return 2.0**-self.right if self.right else None

    @override
    def detectable(self, level: float, power: float) -> float | None:
        return detectable_share_difference(self.wins, self.losses, self.n, level, power)

    @override
    def detectable_within(self, level: float, power: float) -> float | None:
        return detectable_within(self.wins + self.losses, self.n, level, power) if self.wins + self.losses else None

    @override
    def needed(self, difference: float, level: float, power: float) -> int:
        return pairs_to_find(difference, min(self.wins, self.losses) / self.n, level, power)

    @override
    def undone_by(self, level: float) -> str:
        more, fewer = max(self.wins, self.losses), min(self.wins, self.losses)
        turned = next(k for k in range(more) if mcnemar_exact(more - k, fewer + k) >= 1.0 - level)
        return f"{turned:,} of the {more:,} samples that speak for it turned the other way"


class GuardedPairs(PairedEvidence, frozen=True, tag="guarded-t"):
    """Differences of scores on a scale, or of clusters of answers: a t test that reckons with an unseen total loss."""

    method: ClassVar[str] = "a t test that reckons with an unseen loss"
    assumes: ClassVar[str] = (
        "samples, or groups of them, are independent of each other and stand for the questions that one cares about; "
        "no score lies outside of its scale"
    )

    spread: Spread
    had: Spread
    """That of the first's own scores: what there was to lose."""
    reach: float = 1.0
    """The largest possible difference."""

    @property
    @override
    def difference(self) -> float:
        return self.spread.mean

    @override
    def interval(self, level: float) -> Interval:
        return guarded_interval(self.spread, (-self.reach, self.reach), level)

    @override
    def p_values(self) -> tuple[float, float]:
        return p_values(self.spread, (-self.reach, self.reach))

    @property
    @override
    def least_p_drop(self) -> float | None:
        lost = mirrored(self.had)
        if not self.had.mean:
            return None
        return p_above(mirrored(lost), -self.reach) if lost.units > 1 else 1.0

    @override
    def detectable(self, level: float, power: float) -> float | None:
        return detectable_mean(self.spread, self.reach, level, power)

    @override
    def needed(self, difference: float, level: float, power: float) -> int:
        units, harder = self.spread.units, harder_side(self.spread)

        def enough(count: int) -> bool:
            return guarded_power(enlarged(harder, count / units), difference, self.reach, level) >= power

        return fewest(enough, least=units)

    @override
    def undone_by(self, level: float) -> str:
        return f"one total change to the contrary in {self.undone_in:,.0f} samples or groups"

    @property
    def undone_in(self) -> float:
        """Among how many units one total change to the contrary would undo the difference seen."""
        return (self.reach + abs(self.spread.mean)) / abs(self.spread.mean)

    def excluded_in(self, level: float) -> float:
        """Among how many units one total change could still be, at most, so that this many units would not show it."""
        q = student_t_quantile(0.5 + level / 2.0, self.spread.degrees)
        return 1.0 / (self.spread.pad * (q + (1.0 + 2.0 * q * q) / 6.0))


class OpenPairs(PairedEvidence, frozen=True, tag="skewed-t"):
    """Differences of values without a scale, such as seconds: t, corrected for the skewness that was seen."""

    method: ClassVar[str] = "a t test corrected for skewness"
    assumes: ClassVar[str] = (
        "samples, or groups of them, are independent of each other and stand for the questions that one cares about; "
        "there are no values far beyond those seen"
    )

    spread: SkewedT

    @property
    @override
    def difference(self) -> float:
        return self.spread.mean

    @override
    def interval(self, level: float) -> Interval:
        return self.spread.interval(level)

    @override
    def p_values(self) -> tuple[float, float]:
        return self.spread.p_values()

    @property
    @override
    def least_p_drop(self) -> float | None:
        return 0.0 if self.spread.units > 1 else 1.0  # without a scale a drop is unlimited

    @override
    def detectable(self, level: float, power: float) -> float | None:
        if not self.spread.error:
            return None
        return minimum_detectable_effect(self.spread.error, self.spread.degrees, level, power)

    @override
    def needed(self, difference: float, level: float, power: float) -> int:
        least = minimum_detectable_effect(self.spread.error, self.spread.degrees, level, power)
        return math.ceil(self.spread.units * (least / difference) ** 2)

    @override
    def undone_by(self, level: float) -> str:
        return "values far beyond those seen"


class JackknifePairs(OpenPairs, frozen=True, tag=JACKKNIFE):
    """Two numbers made of sums over the samples, such as F1: how much their difference hangs on each sample."""

    method: ClassVar[str] = "a jackknife t test of the score itself"
    assumes: ClassVar[str] = (
        "samples, or groups of them, are independent of each other and stand for the questions that one cares about; "
        "the score hangs on many of them"
    )

    first: float
    """The first's number, which could be lost."""

    @override
    def interval(self, level: float) -> Interval:
        interval = replace(self.spread.interval(level), method=JACKKNIFE)
        reason = "no sample of the one differs from the other's, so there is no spread to judge by"
        return interval if interval.low is not None else replace(interval, reason=reason)

    @override
    def undone_by(self, level: float) -> str:
        return "a few samples that the score hangs on, turned the other way"


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
