"""Whether something got worse: tests on the side of a drop, and whether a drop stays within a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.stats.intervals import Interval, check_level
from assay.stats.paired import MCNEMAR, PairedComparison, holm
from assay.stats.quantiles import normal_quantile

GateOutcome = Literal["met", "not met", "cannot tell"]


class DropTest(Struct, frozen=True, kw_only=True):
    """Whether one of several comparisons got worse, tested on that side alone and corrected by Holm."""

    p_value: float
    adjusted_p: float
    significant: bool
    attainable: float | None
    """The adjusted p-value if everything had been lost, with all other comparisons as they are; None where there was
    nothing to lose.
    """
    can_tell: bool
    """False when even losing everything would not have been significant: the test cannot find a drop."""


def drop_tests(p_values: Sequence[float], least: Sequence[float | None], level: float) -> list[DropTest]:
    """From the one-sided `p_drop` and `least_p_drop` of every comparison that a report makes."""
    check_level(level)
    alpha = 1.0 - level
    tests = []
    for index, (p, adjusted_p, smallest) in enumerate(zip(p_values, holm(p_values), least, strict=True)):
        attainable = None if smallest is None else _adjusted_with(p_values, index, min(p, smallest))
        tests.append(
            DropTest(
                p_value=p,
                adjusted_p=adjusted_p,
                significant=adjusted_p < alpha,
                attainable=attainable,
                can_tell=attainable is None or attainable < alpha,
            )
        )
    return tests


def worst_difference(comparison: PairedComparison) -> Interval:
    """The comparison's interval with the lower end that a claim of no drop may rest on.

    For right/wrong answers it is the lower of the interval's own end and Tango's (1998), which uses the spread that a
    drop of that size would have. Where answers are lost and none gained, the interval alone would miss a true drop of
    the margin in up to 6 % of runs.
    """
    interval = comparison.interval
    if comparison.test != MCNEMAR or interval.low is None:
        return interval
    tango = _tango_low(comparison.wins, comparison.losses, comparison.n, interval.level)
    return replace(interval, low=min(interval.low, tango))


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


def _adjusted_with(p_values: Sequence[float], index: int, p_value: float) -> float:
    """The adjusted p-value at `index` if it had been `p_value`."""
    return holm([*p_values[:index], p_value, *p_values[index + 1 :]])[index]


class NonInferiority(Struct, frozen=True, kw_only=True):
    """Whether the second run is worse than the first by no more than a margin."""

    margin: float
    low: float | None
    """The lower end of the interval of the difference."""
    high: float | None
    level: float
    outcome: GateOutcome
    """`met` when the whole interval lies above −margin, `not met` when it all lies below."""


def non_inferiority(interval: Interval, margin: float) -> NonInferiority:
    """Judge the interval of a paired difference, of right/wrong answers or other scores, clustered or not.

    With a two-sided interval, as `worst_difference` returns it, a drop beyond the margin passes with a chance of about
    (1 − level)/2.
    """
    if not margin >= 0.0:
        raise ValueError(f"margin must be 0 or more, got {margin}")
    outcome: GateOutcome = "cannot tell"
    if interval.low is not None and interval.low >= -margin:
        outcome = "met"
    elif interval.high is not None and interval.high < -margin:
        outcome = "not met"
    return NonInferiority(margin=margin, low=interval.low, high=interval.high, level=interval.level, outcome=outcome)
