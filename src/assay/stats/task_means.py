"""The mean of the tasks' means, each task with the same weight, and its uncertainty: for scores and for differences.

Tasks are independent, so the variances of their means add up. A task of few samples often shows no spread at all;
giving each its own pseudo-answers, as Wilson's or Bonett and Price's interval does, biases the mean of many such tasks,
so one at either end of the scale is shared among all tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.stats.intervals import Floats, Interval, check_level, wilson_bounds
from assay.stats.quantiles import normal_cdf, normal_quantile, student_t_quantile, student_t_tail

METHOD = "shared-wilson"
OPEN = "combined-t"
MANY = 10_000.0
"""Degrees of freedom beyond which t is taken for normal."""


class TaskMean(Struct, frozen=True, kw_only=True):
    """The mean of one task's samples, or clusters of samples."""

    mean: float
    variance: float
    """Of the mean, unbiased: s²/n with n − 1 in s, or the squared cluster-robust error."""
    units: int
    """Samples, or clusters of them."""
    degrees: float = math.inf
    """Degrees of freedom of the variance; infinite for right/wrong answers, whose variance follows from their mean."""


def mean_of_tasks_interval(
    tasks: Sequence[TaskMean], level: float, *, scale: bool = True, shares: Sequence[float] | None = None
) -> Interval:
    """Interval of the mean of the tasks' means: Wilson at the number of right/wrong answers that is as sure.

    `shares` are what the tasks count, and sum to 1; None: each the same.

    Without a `scale` from 0 to 1 it is Student's t with the combined standard error. The degrees of freedom are those
    that Welch and Satterthwaite give a sum of independent means.
    """
    check_level(level)
    means, units, variances = (
        np.array([getattr(task, name) for task in tasks], dtype=np.float64) for name in ("mean", "units", "variance")
    )
    counts = np.ones(len(tasks)) if shares is None else np.array(shares, dtype=np.float64) * len(tasks)
    mean = math.fsum(counts * means) / len(tasks)
    if not scale:
        spreads = counts**2 * variances
        error = math.sqrt(math.fsum(spreads)) / len(tasks)
        reach = quantile(0.5 + level / 2.0, _degrees(tasks, spreads)) * error
        return Interval(low=mean - reach, high=mean + reach, level=level, method=OPEN, standard_error=error)
    centres, spreads = with_shared_ends(means, units, variances, ends=(0.0, 1.0))
    spreads = counts**2 * spreads
    variance = math.fsum(spreads) / len(tasks) ** 2
    centre = math.fsum(counts * centres) / len(tasks)
    low, high = wilson_bounds(
        mean, centre * (1.0 - centre) / variance, quantile(0.5 + level / 2.0, _degrees(tasks, spreads))
    )
    return Interval(low=low, high=high, level=level, method=METHOD, standard_error=math.sqrt(variance))


def with_shared_ends(
    means: Floats, units: Floats, variances: Floats, *, ends: tuple[float, float]
) -> tuple[Floats, Floats]:
    """The tasks' means and their variances, after each task (along the first axis) got its share of one sample at each
    end of the scale.
    """
    # one sample at either end for all tasks together: one for each would pull many small tasks to the middle
    share = 1.0 / len(means)
    low, high = ends
    more = units + 2.0 * share
    centres = (means * units + share * (low + high)) / more
    pseudo = share * ((low - centres) ** 2 + (high - centres) ** 2)
    squares = variances * units * (units - 1.0) + units * (means - centres) ** 2 + pseudo
    # s²/n of what the task has with its share: that counts in n as it does in n − 1
    own = squares / np.where(units > 1.0, more * (units - 1.0 + 2.0 * share), 1.0)
    return centres, np.where(units > 1.0, own, _spread_of_single(means, units, ends))


def _spread_of_single(means: Floats, units: Floats, ends: tuple[float, float]) -> Floats:
    """One sample has no spread of its own, so that of all single-sample tasks together is used, with one more at either
    end. Differences between tasks only add to it, so it is never too small.
    """
    single = np.broadcast_to(units <= 1.0, means.shape)
    count = single.sum(axis=0) + 2.0
    centre = (np.where(single, means, 0.0).sum(axis=0) + sum(ends)) / count
    squares = np.where(single, (means - centre) ** 2, 0.0).sum(axis=0) + sum((end - centre) ** 2 for end in ends)
    variances: Floats = squares / count
    return variances


def satterthwaite(variances: Floats, degrees: Floats) -> Floats:
    """Degrees of freedom of a sum of independent variances, along the first axis."""
    _, exponent = np.frexp(variances.max(axis=0))
    parts = np.ldexp(variances, -exponent)  # the square of a large variance would be infinite
    spent = (parts**2 / degrees).sum(axis=0)
    total = parts.sum(axis=0) ** 2
    combined: Floats = np.divide(total, spent, out=np.full_like(total, math.inf), where=spent > 0.0)
    return combined


def tail(t: float, degrees: float) -> float:
    """The probability that Student's t exceeds t; normal beyond `MANY` degrees of freedom."""
    return normal_cdf(-t) if degrees > MANY else student_t_tail(t, degrees)


def quantile(p: float, degrees: float) -> float:
    """The quantile of Student's t; normal beyond `MANY` degrees of freedom."""
    return normal_quantile(p) if degrees > MANY else student_t_quantile(p, degrees)


def _degrees(tasks: Sequence[TaskMean], variances: Floats) -> float:
    return float(satterthwaite(variances[:, None], np.array([[task.degrees] for task in tasks]))[0])
