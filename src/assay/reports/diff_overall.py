"""The overall difference of two results: tasks are independent, so their squared standard errors add up."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.reports.diff_types import OverallDiff
from assay.stats.intervals import Interval
from assay.stats.paired import PairedComparison
from assay.stats.quantiles import normal_cdf, normal_quantile

POWER = 0.8


def overall_diff(compared: Sequence[PairedComparison], level: float) -> OverallDiff:
    """Mean of the tasks' mean differences with a normal interval and z-test from the combined standard error."""
    difference = math.fsum(each.difference or 0.0 for each in compared) / len(compared)
    error = math.sqrt(math.fsum(_squared_error(each) for each in compared)) / len(compared)
    if error == 0.0:
        reason = "no pair differs, so there is no spread to judge by"
        none = Interval(low=None, high=None, level=level, method="combined-z", reason=reason)
        # without any spread a difference would be the same for every sample: that is no matter of chance
        return OverallDiff(difference=difference, interval=none, p_value=1.0 if difference == 0.0 else 0.0)
    reach = normal_quantile(0.5 + level / 2.0)
    return OverallDiff(
        difference=difference,
        interval=Interval(
            low=difference - reach * error,
            high=difference + reach * error,
            level=level,
            method="combined-z",
            standard_error=error,
        ),
        p_value=min(1.0, 2.0 * normal_cdf(-abs(difference) / error)),
        minimum_detectable_effect=(reach + normal_quantile(POWER)) * error,
    )


def _squared_error(comparison: PairedComparison) -> float:
    if comparison.wins == comparison.losses == 0:
        return 0.0
    error = comparison.interval.standard_error
    if error is None:
        return 0.0
    return error**2
