"""The overall difference of two results: the mean of the tasks' mean differences, each task with the same weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from assay.results.diff.differences import OverallDiff
from assay.stats.intervals import (
    Interval,
    cluster_codes,
    cluster_degrees,
    clustered_standard_error,
    is_binary,
    no_interval,
    standard_error,
)
from assay.stats.paired import PairedComparison, agreeing, minimum_detectable_effect
from assay.stats.permutation import EXACT_FLIPS, permutation_test
from assay.stats.task_means import MANY, quantile, satterthwaite, tail, with_shared_ends

METHOD = "combined-t"


class Units(NamedTuple):
    """What the pairs of a task, or its clusters, contribute to its mean difference."""

    moved: NDArray[np.float64]
    """What each adds to the mean difference; zeros left out."""
    size: int
    """How many pairs, or clusters, there are."""
    to_lose: int
    """How many of them have a score above 0 to lose."""
    variance: float
    """Of the mean difference, unbiased."""
    degrees: float
    answers: bool
    """Whether they are independent right/wrong answers."""


def units_of(before: NDArray[np.float64], after: NDArray[np.float64], groups: NDArray[np.int64] | None = None) -> Units:
    differences, n = after - before, len(before)
    added = differences / max(1, n)
    if groups is None:
        error = standard_error(differences) if n > 1 else 0.0
        answers = is_binary(before) and is_binary(after)
        return Units(added[added != 0.0], n, int((before > 0.0).sum()), error**2, max(1.0, n - 1.0), answers)
    codes, clusters = cluster_codes(groups, n)
    added = np.asarray(np.bincount(codes, weights=added, minlength=clusters), dtype=np.float64)
    to_lose = len(np.unique(codes[before > 0.0]))
    if clusters < 2:
        return Units(added[added != 0.0], clusters, to_lose, 0.0, 1.0, answers=False)
    error = clustered_standard_error(differences, codes, clusters)
    degrees = cluster_degrees(np.bincount(codes, minlength=clusters))
    return Units(added[added != 0.0], clusters, to_lose, error**2, degrees, answers=False)


def overall_diff(compared: Sequence[PairedComparison], units: Sequence[Units], level: float) -> OverallDiff:
    """Student's t with the combined standard error and Welch and Satterthwaite's degrees of freedom; where few pairs
    differ, the exact sign-flip test over the pairs of all tasks at once, so that a handful of samples proves nothing.
    """
    moved = np.concatenate([each.moved for each in units]) / len(compared)
    scale = all(each.scale for each in compared)
    to_lose = sum(unit.to_lose if task.scale else unit.size for task, unit in zip(compared, units, strict=True))
    test, p_value = permutation_test(moved) if len(moved) <= EXACT_FLIPS else ("", 1.0)
    result = OverallDiff(
        difference=math.fsum(each.difference or 0.0 for each in compared) / len(compared),
        interval=no_interval(METHOD, level, "no pair differs, so there is no spread to judge by"),
        p_value=p_value,
        test=test,
        least_p=2.0 ** (1 - sum(each.size for each in units)),
        least_p_drop=2.0**-to_lose if to_lose else None,
        scale=scale,
    )
    if not len(moved) and not all(each.answers for each in units):
        return result  # how much pairs could have differed is known for right/wrong answers only
    error, degrees = _error(compared, units)
    if error == 0.0:
        reason = "every pair differs by the same amount, so there is no spread to judge by"
        test, p_value = permutation_test(moved)
        return replace(result, interval=no_interval(METHOD, level, reason), test=test, p_value=p_value)
    if not test:
        test, p_value = "t", min(1.0, 2.0 * tail(abs(result.difference) / error, degrees))
    reach = quantile(0.5 + level / 2.0, degrees) * error
    # between scores from 0 to 1 no difference is larger than 1
    most = 1.0 if scale else math.inf
    interval = Interval(
        low=max(-most, result.difference - reach),
        high=min(most, result.difference + reach),
        level=level,
        method=METHOD,
        standard_error=error,
    )
    finite = degrees if degrees <= MANY else None
    result = replace(result, interval=interval, p_value=p_value, test=test, degrees=finite)
    return corrected_overall(result, p_value, level, comparisons=1)


def corrected_overall(result: OverallDiff, adjusted_p: float, level: float, *, comparisons: int) -> OverallDiff:
    """With the interval and the detectable difference that belong to the corrected test."""
    significant = adjusted_p < 1.0 - level
    return replace(
        result,
        adjusted_p=adjusted_p,
        significant=significant,
        interval=agreeing(result.interval, result.difference, result.p_value, significant=significant),
        minimum_detectable_effect=_detectable(result, 1.0 - (1.0 - level) / max(1, comparisons)),
    )


def _detectable(result: OverallDiff, level: float) -> float | None:
    """The true difference that this many pairs would find with the default power."""
    error = result.interval.standard_error
    if error is None or result.least_p > 1.0 - level:
        return None  # even if all of them moved one way, the test could not detect it
    least = minimum_detectable_effect(error, result.degrees, level)
    return None if result.scale and least > 1.0 else least


def _error(compared: Sequence[PairedComparison], units: Sequence[Units]) -> tuple[float, float]:
    """The standard error of the mean over tasks, and its degrees of freedom."""
    variances = np.array([each.variance for each in units])
    answers = np.array([each.answers for each in units])
    if answers.any():
        # Bonett and Price add one win and one loss; here the tasks share them
        means = np.array([each.difference or 0.0 for each in compared])
        sizes = np.array([each.size for each in units], dtype=np.float64)
        variances[answers] = with_shared_ends(means[answers], sizes[answers], variances[answers], ends=(-1.0, 1.0))[1]
    degrees = satterthwaite(variances[:, None], np.array([[each.degrees] for each in units]))
    return math.sqrt(math.fsum(variances)) / len(compared), float(degrees[0])
