"""The overall difference of tasks that are all right/wrong answers: the mean of their differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.stats.guarded import Spread
from assay.stats.intervals import Floats, Interval
from assay.stats.paired import AnswerPairs, agreeing, minimum_detectable_effect
from assay.stats.permutation import EXACT_FLIPS, permutation_test
from assay.stats.task_means import MANY, quantile, satterthwaite, tail, with_shared_ends

METHOD = "combined-t"


class AnswersOfTasks(Struct, frozen=True, tag=METHOD):
    """Student's t with the combined standard error, Bonett and Price's win and loss shared by all tasks; where few
    pairs differ, the exact sign-flip test over the pairs of all tasks at once: a handful of samples proves nothing."""

    tasks: tuple[AnswerPairs, ...]

    @property
    def difference(self) -> float:
        return math.fsum((task.wins - task.losses) / task.n for task in self.tasks) / len(self.tasks)

    def interval(self, level: float) -> Interval:
        error, degrees = self._error()
        reach = quantile(0.5 + level / 2.0, degrees) * error
        low, high = max(-1.0, self.difference - reach), min(1.0, self.difference + reach)
        interval = Interval(low=low, high=high, level=level, method=METHOD, standard_error=error)
        return agreeing(interval, self.difference, 2.0 * min(self.p_values()))

    def no_drop_interval(self, level: float) -> Interval:
        return self.interval(level)

    def p_values(self) -> tuple[float, float]:
        """One-sided: of "the second is better", and of "worse"."""
        moved = sum(task.wins + task.losses for task in self.tasks)
        if moved <= EXACT_FLIPS:
            half = permutation_test(self._moved())[1] / 2.0
        else:
            error, degrees = self._error()
            half = tail(abs(self.difference) / error, degrees)
        return (half, 1.0 - half) if self.difference > 0.0 else (1.0 - half, half)

    @property
    def least_p_drop(self) -> float | None:
        right = sum(task.right for task in self.tasks)
        return 2.0**-right if right else None

    def detectable(self, level: float, power: float) -> float | None:
        if 2.0 ** (1 - sum(task.n for task in self.tasks)) > 1.0 - level:
            return None  # even if all of them moved one way, the test could not detect it
        error, degrees = self._error()
        least = minimum_detectable_effect(error, degrees if degrees <= MANY else None, level, power)
        return None if least > 1.0 else least

    def _moved(self) -> Floats:
        sizes = [sign / task.n for task in self.tasks for sign in (1.0,) * task.wins + (-1.0,) * task.losses]
        return np.array(sizes)

    def _error(self) -> tuple[float, float]:
        return combined_error([task.spread for task in self.tasks], [task.n for task in self.tasks])


def combined_error(spreads: Sequence[Spread], sizes: Sequence[float]) -> tuple[float, float]:
    """The standard error of the mean over tasks of right/wrong answers, and its degrees of freedom."""
    means, seconds, degrees = (
        np.array([getattr(spread, name) for spread in spreads]) for name in ("mean", "second", "degrees")
    )
    variances = with_shared_ends(means, np.array(sizes, dtype=np.float64), seconds, ends=(-1.0, 1.0))[1]
    freedom = float(satterthwaite(variances[:, None], degrees[:, None])[0])
    return math.sqrt(math.fsum(variances)) / len(spreads), freedom
