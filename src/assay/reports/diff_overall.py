"""The overall difference of two results: the mean of the tasks' mean differences, each task with the same weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.reports.diff_types import OverallDiff
from assay.stats.intervals import Interval, cluster_codes
from assay.stats.paired import EXACT_FLIPS, PairedComparison, permutation_test
from assay.stats.quantiles import normal_cdf, normal_quantile, student_t_quantile, student_t_tail

POWER = 0.8
METHOD = "combined-t"
EXACT = "permutation-exact"
MANY = 10_000.0
"""Degrees of freedom from which on t is the normal distribution."""

Units = NDArray[np.float64]
"""What each pair of a task, or each of its clusters, adds to the task's mean difference; zeros left out."""


def units_of(differences: Units, groups: NDArray[np.int64] | None) -> Units:
    units = differences / max(1, len(differences))
    if groups is not None:
        codes, clusters = cluster_codes(groups, len(units))
        units = np.asarray(np.bincount(codes, weights=units, minlength=clusters), dtype=np.float64)
    found: Units = units[units != 0.0]
    return found


def overall_diff(compared: Sequence[PairedComparison], units: Sequence[Units], level: float) -> OverallDiff:
    """Student's t with the combined standard error and the degrees of freedom that Welch and Satterthwaite give a sum
    of independent means; where few pairs differ, the exact sign-flip test over the pairs of all tasks at once, so that
    a handful of samples never proves anything.
    """
    difference = math.fsum(each.difference or 0.0 for each in compared) / len(compared)
    together = np.concatenate(units) / len(compared)
    if not len(together):
        none = _no_interval(level, "no pair differs, so there is no spread to judge by")
        return OverallDiff(difference=difference, interval=none, p_value=1.0, test=EXACT)
    squares = [_squared_error(each, len(compared)) for each in compared]
    error, degrees = math.sqrt(math.fsum(squares)) / len(compared), _degrees(compared, squares)
    if error == 0.0:
        test, p_value = permutation_test(together)
        none = _no_interval(level, "every pair differs by the same amount, so there is no spread to judge by")
        return OverallDiff(difference=difference, interval=none, p_value=p_value, test=test)
    reach = _quantile(0.5 + level / 2.0, degrees)
    # between shares of right answers no difference is larger than 1
    most = 1.0 if all(each.test == "mcnemar-exact" for each in compared) else math.inf
    low, high = max(-most, difference - reach * error), min(most, difference + reach * error)
    test, p_value = "t", min(1.0, 2.0 * _tail(abs(difference) / error, degrees))
    if len(together) <= EXACT_FLIPS:
        test, p_value = permutation_test(together)
        if p_value > 1.0 - level:
            low, high = min(low, 0.0), max(high, 0.0)
    return OverallDiff(
        difference=difference,
        interval=Interval(low=low, high=high, level=level, method=METHOD, standard_error=error),
        p_value=p_value,
        test=test,
        minimum_detectable_effect=_detectable(compared, error, degrees, level),
    )


def _no_interval(level: float, reason: str) -> Interval:
    return Interval(low=None, high=None, level=level, method=METHOD, reason=reason)


def _detectable(compared: Sequence[PairedComparison], error: float, degrees: float, level: float) -> float | None:
    """The true difference that this many pairs would have found with the usual power."""
    flippable = sum(each.clusters or each.n for each in compared)
    if 2.0 ** (1 - min(flippable, 64)) > 1.0 - level:
        return None  # even if all of them moved one way, the test could not tell
    return (_quantile(0.5 + level / 2.0, degrees) + _quantile(POWER, degrees)) * error


def _squared_error(comparison: PairedComparison, tasks: int) -> float:
    if comparison.test == "mcnemar-exact":
        # Bonett and Price add one win and one loss; here they are shared among the tasks, not added to each
        share = 1.0 / tasks
        n = comparison.n + 2.0 * share
        gained, lost = (comparison.wins + share) / n, (comparison.losses + share) / n
        return (gained + lost - (gained - lost) ** 2) / n
    if comparison.wins == comparison.losses == 0:
        return 0.0
    return (comparison.interval.standard_error or 0.0) ** 2


def _degrees(compared: Sequence[PairedComparison], squares: Sequence[float]) -> float:
    spent = math.fsum(
        square**2 / max(1, (each.clusters or each.n) - 1)
        for each, square in zip(compared, squares, strict=True)
        if each.test != "mcnemar-exact"
    )
    return math.fsum(squares) ** 2 / spent if spent > 0.0 else math.inf


def _quantile(p: float, degrees: float) -> float:
    return normal_quantile(p) if degrees > MANY else student_t_quantile(p, degrees)


def _tail(t: float, degrees: float) -> float:
    return normal_cdf(-t) if degrees > MANY else student_t_tail(t, degrees)
