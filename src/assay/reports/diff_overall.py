"""The overall difference of two results: tasks are independent, so their squared standard errors add up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.reports.diff_types import OverallDiff
from assay.stats.intervals import Interval
from assay.stats.paired import PairedComparison
from assay.stats.quantiles import normal_cdf, normal_quantile, student_t_quantile, student_t_tail

POWER = 0.8
METHOD = "combined-t"
MANY = 10_000.0
"""Degrees of freedom from which on t is the normal distribution."""


def overall_diff(compared: Sequence[PairedComparison], level: float) -> OverallDiff:
    """Mean of the tasks' mean differences, with an interval and a test from the combined standard error.

    Student's t with the degrees of freedom that Welch and Satterthwaite give a sum of independent means; tasks of
    right/wrong answers are as good as normal.
    """
    difference = math.fsum(each.difference or 0.0 for each in compared) / len(compared)
    if not any(each.wins or each.losses for each in compared):
        reason = "no pair differs, so there is no spread to judge by"
        none = Interval(low=None, high=None, level=level, method=METHOD, reason=reason)
        return OverallDiff(difference=difference, interval=none, p_value=1.0)
    squares = [_squared_error(each, len(compared)) for each in compared]
    error = math.sqrt(math.fsum(squares)) / len(compared)
    if error == 0.0:
        reason = "every pair differs by the same amount, so there is no spread to judge by"
        none = Interval(low=None, high=None, level=level, method=METHOD, reason=reason)
        # without any spread a difference would be the same for every sample: that is no matter of chance
        return OverallDiff(difference=difference, interval=none, p_value=1.0 if difference == 0.0 else 0.0)
    degrees = _degrees(compared, squares)
    reach = _quantile(0.5 + level / 2.0, degrees)
    return OverallDiff(
        difference=difference,
        interval=Interval(
            low=difference - reach * error,
            high=difference + reach * error,
            level=level,
            method=METHOD,
            standard_error=error,
        ),
        p_value=min(1.0, 2.0 * _tail(abs(difference) / error, degrees)),
        minimum_detectable_effect=(reach + _quantile(POWER, degrees)) * error,
    )


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
