"""The mean over tasks of their means, each task with the same weight: how sure it is, for scores and for differences.

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
"""Degrees of freedom from which on t is the normal distribution."""


class TaskMean(Struct, frozen=True, kw_only=True):
    """The mean of one task's samples, or clusters of samples."""

    mean: float
    variance: float
    """Of the mean, unbiased: s²/n with n − 1 in s, or the squared cluster-robust error."""
    units: int
    """Samples, or clusters of them."""
    degrees: float = math.inf
    """Of the variance; right/wrong answers, whose variance follows from their mean, spend none."""


def mean_of_tasks_interval(tasks: Sequence[TaskMean], level: float, *, scale: bool = True) -> Interval:
    """Interval of the mean of the tasks' means: Wilson at the number of right/wrong answers that is as sure.

    Without a `scale` from 0 to 1 it is Student's t with the combined standard error. The degrees of freedom are those
    that Welch and Satterthwaite give a sum of independent means.
    """
    check_level(level)
    means, units, variances = (
        np.array([getattr(each, name) for each in tasks], dtype=np.float64) for name in ("mean", "units", "variance")
    )
    mean = math.fsum(means) / len(tasks)
    if not scale:
        error = math.sqrt(math.fsum(variances)) / len(tasks)
        reach = quantile(0.5 + level / 2.0, _degrees(tasks, variances)) * error
        return Interval(low=mean - reach, high=mean + reach, level=level, method=OPEN, standard_error=error)
    centres, spreads = with_shared_ends(means, units, variances, ends=(0.0, 1.0))
    variance = math.fsum(spreads) / len(tasks) ** 2
    centre = math.fsum(centres) / len(tasks)
    low, high = wilson_bounds(
        mean, centre * (1.0 - centre) / variance, quantile(0.5 + level / 2.0, _degrees(tasks, spreads))
    )
    return Interval(low=low, high=high, level=level, method=METHOD, standard_error=math.sqrt(variance))


def with_shared_ends(
    means: Floats, units: Floats, variances: Floats, *, ends: tuple[float, float]
) -> tuple[Floats, Floats]:
    """The tasks' means and the variances of their means, after each task (along the first axis) got its share of one
    sample at either end of the scale.
    """
    share = 1.0 / len(means)
    low, high = ends
    more = units + 2.0 * share
    centres = (means * units + share * (low + high)) / more
    pseudo = share * ((low - centres) ** 2 + (high - centres) ** 2)
    squares = variances * units * (units - 1.0) + units * (means - centres) ** 2 + pseudo
    own = squares / np.where(units > 1.0, more * (units - 1.0 + 2.0 * share), 1.0)
    return centres, np.where(units > 1.0, own, _spread_of_single(means, units, ends))


def _spread_of_single(means: Floats, units: Floats, ends: tuple[float, float]) -> Floats:
    """One sample has no spread of its own. Those of all tasks that have just one stand for it, with one more at either
    end: how tasks differ only adds to it, so it is never too small.
    """
    single = np.broadcast_to(units <= 1.0, means.shape)
    count = single.sum(axis=0) + 2.0
    centre = (np.where(single, means, 0.0).sum(axis=0) + sum(ends)) / count
    squares = np.where(single, (means - centre) ** 2, 0.0).sum(axis=0) + sum((end - centre) ** 2 for end in ends)
    found: Floats = squares / count
    return found


def satterthwaite(variances: Floats, degrees: Floats) -> Floats:
    """Degrees of freedom of a sum of independent variances, along the first axis."""
    spent = (variances**2 / degrees).sum(axis=0)
    total = variances.sum(axis=0) ** 2
    found: Floats = np.divide(total, spent, out=np.full_like(total, math.inf), where=spent > 0.0)
    return found


def tail(t: float, degrees: float) -> float:
    """The probability above t; of very many degrees of freedom the normal one's."""
    return normal_cdf(-t) if degrees > MANY else student_t_tail(t, degrees)


def quantile(p: float, degrees: float) -> float:
    """Of Student's t; of the normal distribution where it has many degrees of freedom."""
    return normal_quantile(p) if degrees > MANY else student_t_quantile(p, degrees)


def _degrees(tasks: Sequence[TaskMean], variances: Floats) -> float:
    return float(satterthwaite(variances[:, None], np.array([[each.degrees] for each in tasks]))[0])
