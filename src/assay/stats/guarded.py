"""The mean of values on a scale, guarded against the loss that was not seen.

Student's t believes that values are as spread as they look. Where most samples gain a little and a few lose everything,
a set without such a loss looks sure of a gain that is not there: up to 40 in 100 data sets would. No test can tell such
a set from a true gain before the sum of the gains exceeds about three and a half whole losses, so the mean is tested as
if one more unit lay at the hostile end of the scale: in the spread and in the skewness, not in the mean.

The interval, the two-sided p-value and the one-sided one are one rule, so that they never contradict each other. A unit
is a sample, or a cluster of samples that belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from assay.stats.intervals import Floats, Interval, check_level, cluster_degrees, sums_by_cluster, too_few
from assay.stats.quantiles import normal_cdf
from assay.stats.search import smallest
from assay.stats.task_means import quantile, satterthwaite, tail

METHOD = "guarded-t"
SKEWED = "skewed-t"
VERDICT = 1.0
"""How many units at the hostile end a verdict reckons with: at most 3.3 % false ones a side."""
ONE_MEAN = 0.4
"""How many the interval of one mean reckons with, which promises 95 % for both sides together."""
PIECE = 1 << 16
"""How many units are computed with at a time: for a million at once it takes several times their memory."""


class Spread(Struct, frozen=True, kw_only=True):
    """What a guarded test needs of units: the moments of what each adds to the mean."""

    mean: float
    second: float
    """Σ r²/(1 − w), of each unit's share r of the distance from the mean, where w is its share of the values."""
    third: float
    """Σ r³."""
    pad: float
    """What a unit at distance 1 from the mean would add: the share of the values that a unit usually has."""
    degrees: float
    units: int


def spread_of(values: Floats, groups: ArrayLike | Sequence[Any] | None = None) -> Spread:
    """The spread of the mean of values; with groups each group is a unit."""
    sums, sizes = sums_by_cluster(values, groups)
    total = float(sizes.sum())
    mean = float(sums.sum()) / total
    alone = len(sums) < 2
    second = third = pad = 0.0
    for distances, shares in _distances(sums, sizes, mean):
        second += 0.0 if alone else float((distances**2 / (1.0 - shares)).sum())
        third += float((distances**3).sum())
        pad += float((shares**2).sum())
    return Spread(
        mean=mean,
        second=second,
        third=third,
        pad=pad,
        degrees=1.0 if alone else _degrees(sizes, groups),
        units=len(sums),
    )


def _degrees(sizes: Floats, groups: ArrayLike | Sequence[Any] | None) -> float:
    return len(sizes) - 1.0 if groups is None else cluster_degrees(sizes)


def _distances(sums: Floats, sizes: Floats, mean: float) -> Iterator[tuple[Floats, Floats]]:
    """Each unit's share r of the distance from the mean, and its share of the values; a piece of them at a time."""
    total = float(sizes.sum())
    for start in range(0, len(sums), PIECE):
        piece = slice(start, start + PIECE)
        yield (sums[piece] - sizes[piece] * mean) / total, sizes[piece] / total


def combined(spreads: Sequence[Spread], reach: float = 1.0) -> Spread:
    """The spread of the mean of several tasks' means, each with the same weight.

    The unit that is reckoned with lies in the task in which it moves the mean furthest. A task of one unit has no
    spread of its own, so that of all such tasks together is used: differences between tasks only add to it.
    """
    tasks = len(spreads)
    single = np.array([spread.mean for spread in spreads if spread.units == 1])
    apart = np.array([spread.mean - single.mean() if spread.units == 1 else 0.0 for spread in spreads])
    seconds = np.array([spread.second for spread in spreads]) + apart**2 * len(single) / max(1, len(single) - 1)
    if len(single) == 1:
        seconds[[spread.units == 1 for spread in spreads]] = (reach + abs(float(single[0]))) ** 2
    degrees = np.array([spread.degrees for spread in spreads])
    second = float(seconds.sum())
    freedom = float(satterthwaite(seconds[:, None], degrees[:, None])[0]) if second > 0.0 else math.inf
    return Spread(
        mean=math.fsum(spread.mean for spread in spreads) / tasks,
        second=second / tasks**2,
        third=float((np.array([spread.third for spread in spreads]) + apart**3).sum()) / tasks**3,
        pad=max(spread.pad for spread in spreads) / tasks,
        degrees=min(freedom, float(degrees.sum())),
        units=sum(spread.units for spread in spreads),
    )


def unguarded(moved: SkewedT, mean: float) -> Spread:
    """A number with the spread of another, to which no single unit can be added."""
    return Spread(mean=mean, second=moved.second, third=0.0, pad=0.0, degrees=moved.degrees, units=moved.units)


def enlarged(spread: Spread, factor: float) -> Spread:
    """The spread of the mean of this many times as many units like these."""
    units = spread.units * factor
    return replace(
        spread,
        second=spread.second / factor,
        third=spread.third / factor**2,
        pad=spread.pad / factor,
        degrees=max(1.0, spread.degrees + units - spread.units),
        units=int(units),
    )


def lower_end(spread: Spread, low: float, level: float, *, pads: float = VERDICT) -> float:
    """The lower end of the interval of the mean, on a scale whose lower end is `low`."""
    root, skew = _guarded(spread, low, pads)
    q = quantile(0.5 + level / 2.0, spread.degrees)
    return max(low, spread.mean - q * root - skew * (1.0 + 2.0 * q * q) / 6.0)


def p_above(spread: Spread, low: float, null: float = 0.0, *, pads: float = VERDICT) -> float:
    """One-sided: the chance of so large a mean, or a larger one, if the true mean were `null`."""
    root, skew = _guarded(spread, low, pads)
    need = spread.mean - null - skew / 6.0
    if need <= 0.0:
        return 1.0
    if root == 0.0:
        return 0.0
    # the root of q·root + skew·q²/3 = need, without subtracting what is nearly equal
    q = 2.0 * need / (root + math.sqrt(root * root + 4.0 * skew * need / 3.0))
    return tail(q, spread.degrees)


def scaled(spread: Spread, factor: float) -> Spread:
    """The spread of the values times a factor, on a scale that is as much longer."""
    return replace(
        spread,
        mean=spread.mean * factor,
        second=spread.second * factor**2,
        third=spread.third * factor**3,
    )


def mirrored(spread: Spread) -> Spread:
    """The spread of the values with their signs turned, for questions about the upper end."""
    return replace(spread, mean=-spread.mean, third=-spread.third)


def guarded_interval(spread: Spread, scale: tuple[float, float], level: float, *, pads: float = VERDICT) -> Interval:
    """The interval of the mean of values between the two ends of a scale."""
    check_level(level)
    if spread.units < 2:
        return too_few(METHOD, level, spread.units, "unit")
    return Interval(
        low=lower_end(spread, scale[0], level, pads=pads),
        high=-lower_end(mirrored(spread), -scale[1], level, pads=pads),
        level=level,
        method=METHOD,
        standard_error=math.sqrt(spread.second),
    )


def p_values(spread: Spread, scale: tuple[float, float], null: float = 0.0) -> tuple[float, float]:
    """One-sided p-values of "the mean is above `null`" and "below"."""
    if spread.units < 2:
        return 1.0, 1.0
    return p_above(spread, scale[0], null), p_above(mirrored(spread), -scale[1], -null)


def guarded_power(spread: Spread, mean: float, reach: float, level: float) -> float:
    """The chance that units with this spread show a true mean to be above 0, on a scale from −reach to reach.

    Spread and skewness are taken to be the same whatever the mean is. A skewed sample's mean and standard error move
    together: where the long tail is on the far side of 0 the mean is found more often, and where it is a few large
    losses less often.
    """
    if spread.units < 2:
        return 0.0
    q = quantile(0.5 + level / 2.0, spread.degrees)
    weight = (1.0 + 2.0 * q * q) / 6.0
    root, skew = _guarded(replace(spread, mean=mean), -reach, VERDICT)
    beyond = mean - q * root - skew * weight
    if spread.second <= 0.0:
        return float(beyond > 0.0)
    # how the lower end moves with the mean and with the squared error, which vary together by the third moment
    lost, square = spread.pad * (reach + mean), root * root
    of_skew = (3.0 * lost * lost - 2.0 * skew * lost) * spread.pad / square if skew else 0.0
    by_mean = 1.0 - q * lost * spread.pad / root - weight * of_skew
    by_square = weight * skew / square - q / (2.0 * root)
    # of a squared error, as of Poisson counts: the kurtosis is 3 and the squared skewness
    of_square = 2.0 * spread.second**2 / spread.degrees + spread.third**2 / spread.second
    variance = by_mean**2 * spread.second + 2.0 * by_mean * by_square * spread.third + by_square**2 * of_square
    chance = normal_cdf(beyond / math.sqrt(variance)) if variance > 0.0 else float(beyond > 0.0)
    # what no test exceeds that is right where a few unseen losses undo the mean; twice, as the side may err in both
    most = math.log(1.0 - level) + spread.units * math.log1p(mean / reach)
    return min(chance, math.exp(min(most, 0.0)))


def harder_side(spread: Spread) -> Spread:
    """The spread as it is for the side on which a difference is harder to find."""
    return replace(spread, third=-abs(spread.third))


def detectable_mean(spread: Spread, reach: float, level: float, power: float) -> float | None:
    """The true mean that such units find on either side with this power; None where the scale allows none so large."""
    harder = harder_side(spread)
    return smallest(lambda mean: guarded_power(harder, mean, reach, level) >= power, reach)


def _guarded(spread: Spread, low: float, pads: float) -> tuple[float, float]:
    """The standard error and the skewness term, each with the units at the lower end."""
    lost = spread.pad * (low - spread.mean)
    second = spread.second + pads * lost * lost
    if second <= 0.0:
        return 0.0, 0.0
    return math.sqrt(second), max(0.0, -(spread.third + pads * lost**3) / second)


def graded_interval(
    values: Floats,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """The interval of one mean of scores on a scale with two ends.

    Twenty scores about 0.99 say nothing about the one in a hundred that is 0, so t is far too narrow near an end. Of
    clusters, the unit that is reckoned with is as many scores as clusters make one of: one where members are as
    different as any scores, and the whole cluster where they are alike.
    """
    low, high = bounds
    if not -math.inf < low < high < math.inf:
        raise ValueError(f"a scale has two ends, the first below the second; got {low} and {high}")
    if len(values) and not (values.min() >= low and values.max() <= high):
        raise ValueError(f"a value lies outside the scale from {low:g} to {high:g}")
    width = high - low
    spread = spread_of((values - low) / width, groups)
    spread = replace(spread, pad=_scores_in_one(values, spread, width) / len(values))
    found = guarded_interval(spread, (0.0, 1.0), level, pads=ONE_MEAN)
    if found.low is None or found.high is None or found.standard_error is None:
        return found
    ends = low + found.low * width, low + found.high * width
    return replace(found, low=ends[0], high=ends[1], standard_error=found.standard_error * width)


def _scores_in_one(values: Floats, spread: Spread, width: float) -> float:
    """The design effect of the clusters, at least 1 and at most the size of a cluster."""
    n, largest = len(values), spread.pad * len(values)
    alone = float(values.var()) / width**2 / max(1, n - 1)
    return min(max(1.0, spread.second / alone), largest) if alone > 1e-24 else largest


class SkewedT(Struct, frozen=True):
    """Hall's t (1992), corrected for the skewness that was seen, and never surer than Student's."""

    mean: float
    error: float
    skew: float
    units: int
    degrees: float

    @property
    def second(self) -> float:
        """The squared error, as a spread has it."""
        return self.error**2

    def interval(self, level: float) -> Interval:
        check_level(level)
        if self.units < 2:
            return too_few(SKEWED, level, self.units, "value")
        if self.error == 0.0:
            reason = f"all {self.units} values are equal, so there is no spread to judge by"
            return Interval(low=None, high=None, level=level, method=SKEWED, reason=reason)
        q = quantile(0.5 + level / 2.0, self.degrees)
        return Interval(
            low=self.mean - max(self._back(q), q) * self.error,
            high=self.mean + max(-self._back(-q), q) * self.error,
            level=level,
            method=SKEWED,
            standard_error=self.error,
        )

    def p_values(self) -> tuple[float, float]:
        """One-sided p-values of "the mean is above 0" and "below"."""
        if self.error == 0.0:  # equal differences: only their signs say something
            sure = 0.5**self.units
            return (sure, 1.0) if self.mean > 0.0 else (1.0, sure) if self.mean < 0.0 else (1.0, 1.0)
        t = self.mean / self.error
        corrected = self._forth(t)
        return self._tail(min(t, corrected)), self._tail(min(-t, -corrected))

    def _tail(self, t: float) -> float:
        return tail(t, self.degrees) if t >= 0.0 else 1.0 - tail(-t, self.degrees)

    def _forth(self, t: float) -> float:
        """Hall's transformation, a rising cubic, of a t."""
        root = math.sqrt(self.units)
        u = t / root
        return root * (u + self.skew * u**2 / 3.0 + self.skew**2 * u**3 / 27.0 + self.skew / (6.0 * self.units))

    def _back(self, t: float) -> float:
        """The t whose transformation is this."""
        root, skew = math.sqrt(self.units), self.skew
        if abs(skew) < 1e-6:
            return t
        cubed = 1.0 + skew * (t / root - skew / (6.0 * self.units))
        return float(3.0 / skew * (np.cbrt(cubed) - 1.0) * root)


def skewed_t(values: Floats, groups: ArrayLike | Sequence[Any] | None = None) -> SkewedT:
    """The same questions about values without a scale, such as seconds or tokens."""
    sums, sizes = sums_by_cluster(values, groups)
    spread = spread_of(values, groups)
    squares = sum(float((distances**2).sum()) for distances, _ in _distances(sums, sizes, spread.mean))
    # the spread of equal values is rounding, not information
    typical = math.sqrt(squares * len(sums)) if len(sums) > 1 else 0.0
    return skewed_t_of(spread, squares if typical > 1e-12 * _largest(values) else 0.0)


def _largest(values: Floats) -> float:
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def skewed_t_of(spread: Spread, squares: float) -> SkewedT:
    """From the moments of units: `squares` is the plain Σ r², and 0 where all units are equal."""
    units = spread.units
    if units < 2 or squares == 0.0:
        return SkewedT(spread.mean, 0.0, 0.0, units, spread.degrees)
    skew = 0.0
    if units > 2:
        skew = spread.third / units / (squares / units) ** 1.5 * math.sqrt(units * (units - 1.0)) / (units - 2.0)
    return SkewedT(spread.mean, math.sqrt(spread.second), skew, units, spread.degrees)


def combined_open(spreads: Sequence[Spread | SkewedT]) -> SkewedT:
    """The mean of several tasks' means where one has no scale: Student's t, Welch and Satterthwaite's degrees."""
    variances = np.array([spread.second for spread in spreads])
    degrees = np.array([spread.degrees for spread in spreads])
    varies = bool(variances.any())
    return SkewedT(
        mean=math.fsum(spread.mean for spread in spreads) / len(spreads),
        error=math.sqrt(math.fsum(variances)) / len(spreads),
        skew=0.0,
        units=sum(spread.units for spread in spreads),
        degrees=float(satterthwaite(variances[:, None], degrees[:, None])[0]) if varies else float(degrees.sum()),
    )
