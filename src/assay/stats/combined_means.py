"""The mean over tasks whose scores already have intervals: with equal weights, or with those of a group of tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from assay.stats.intervals import Interval
from assay.stats.quantiles import normal_quantile
from assay.stats.task_means import TaskMean, mean_of_tasks_interval

WEIGHTED = "combined"


class TaskScore(NamedTuple):
    """A task's mean with its interval."""

    mean: float
    low: float
    high: float
    level: float
    method: str
    units: int
    """Attempts, or the clusters that they come in."""
    standard_error: float | None = None

    @property
    def error(self) -> float:
        """The standard error; from the interval where it is not known."""
        if self.standard_error is not None:
            return self.standard_error
        return (self.high - self.low) / 2.0 / normal_quantile(0.5 + self.level / 2.0)


def combined_mean_interval(
    scores: Sequence[TaskScore], level: float, shares: Sequence[float] | None = None
) -> Interval:
    """The interval of the mean over tasks, each with the same weight or with its share."""
    scale = all(score.low >= 0.0 and score.high <= 1.0 for score in scores)
    return mean_of_tasks_interval([_task_mean(score) for score in scores], level, scale=scale, shares=shares)


def weighted_mean_interval(scores: Sequence[TaskScore], shares: Sequence[float], level: float) -> Interval:
    """Tasks are independent, so the variances of their means add up, each with the square of its weight."""
    mean = math.fsum(share * each.mean for share, each in zip(shares, scores, strict=True))
    error = math.sqrt(math.fsum((share * each.error) ** 2 for share, each in zip(shares, scores, strict=True)))
    reach = normal_quantile(0.5 + level / 2.0) * error
    interval = Interval(low=mean - reach, high=mean + reach, level=level, method=WEIGHTED, standard_error=error)
    return interval.clipped(0.0, 1.0) if all(score.low >= 0.0 and score.high <= 1.0 for score in scores) else interval


def _task_mean(score: TaskScore) -> TaskMean:
    if score.method == "wilson":
        # independent right/wrong answers: their spread follows from their mean and spends no degrees of freedom
        variance = score.mean * (1.0 - score.mean) / max(1, score.units - 1)
        return TaskMean(mean=score.mean, variance=variance, units=score.units)
    return TaskMean(mean=score.mean, variance=score.error**2, units=score.units, degrees=max(1, score.units - 1))
