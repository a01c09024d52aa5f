"""What the pairs of several tasks say about the mean of the tasks' differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from assay.overriding import override
from assay.stats.guarded import Spread, combined, combined_open, scaled
from assay.stats.intervals import Floats, Interval
from assay.stats.paired_evidence import (
    AnswerPairs,
    GuardedPairs,
    OpenPairs,
    PairedEvidence,
    agreeing,
    minimum_detectable_effect,
)
from assay.stats.permutation import EXACT_FLIPS, permutation_test
from assay.stats.replicate_pairs import ReplicatePairs
from assay.stats.task_means import MANY, quantile, satterthwaite, tail, with_shared_ends

METHOD = "combined-t"


class AnswersOfTasks(PairedEvidence, frozen=True, tag=METHOD):
    """Student's t with the combined standard error, Bonett and Price's win and loss shared by all tasks; where few
    pairs differ, the exact sign-flip test over the pairs of all tasks at once: a handful of samples proves nothing."""

    method: ClassVar[str] = "a t test of the mean over tasks, or every way to flip the pairs where few differ"
    assumes: ClassVar[str] = "samples are independent of each other, also those of different tasks"

    tasks: tuple[AnswerPairs, ...]

    @property
    @override
    def difference(self) -> float:
        return math.fsum((task.wins - task.losses) / task.n for task in self.tasks) / len(self.tasks)

    @override
    def interval(self, level: float) -> Interval:
        error, degrees = self._error()
        reach = quantile(0.5 + level / 2.0, degrees) * error
        low, high = max(-1.0, self.difference - reach), min(1.0, self.difference + reach)
        interval = Interval(low=low, high=high, level=level, method=METHOD, standard_error=error)
        return agreeing(interval, self.difference, self.p_value)

    @override
    def p_values(self) -> tuple[float, float]:
        moved = sum(task.wins + task.losses for task in self.tasks)
        if moved <= EXACT_FLIPS:
            half = permutation_test(self._moved())[1] / 2.0
        else:
            error, degrees = self._error()
            half = tail(abs(self.difference) / error, degrees)
        return (half, 1.0 - half) if self.difference > 0.0 else (1.0 - half, half)

    @property
    @override
    def least_p_drop(self) -> float | None:
        right = sum(task.right for task in self.tasks)
        return 2.0**-right if right else None

    @override
    def detectable(self, level: float, power: float) -> float | None:
        if 2.0 ** (1 - sum(task.n for task in self.tasks)) > 1.0 - level:
            return None  # even if all of them moved one way, the test could not detect it
        error, degrees = self._error()
        least = minimum_detectable_effect(error, degrees if degrees <= MANY else None, level, power)
        return None if least > 1.0 else least

    @override
    def needed(self, difference: float, level: float, power: float) -> int:
        error, degrees = self._error()
        least = minimum_detectable_effect(error, degrees if degrees <= MANY else None, level, power)
        return math.ceil(sum(task.n for task in self.tasks) * (least / difference) ** 2)

    @override
    def undone_by(self, level: float) -> str:
        return "enough of the samples that speak for it turned the other way"

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


def evidence_of_tasks(
    tasks: Sequence[AnswerPairs | GuardedPairs | OpenPairs | ReplicatePairs], factors: Sequence[float] = ()
) -> AnswersOfTasks | GuardedPairs | OpenPairs:
    """Right/wrong answers together, scores on a scale by a guarded t; without a guard where one has no scale.

    `factors` say how much each task counts in the mean, on average 1; without them all count alike.
    """
    reach = 1.0
    if len(set(factors)) > 1:
        reach = max(factors)
        tasks = [_counted(task, factor) for task, factor in zip(tasks, factors, strict=True)]
    answers = tuple(task for task in tasks if isinstance(task, AnswerPairs))
    if len(answers) == len(tasks):
        return AnswersOfTasks(answers)
    scored = [task for task in tasks if isinstance(task, AnswerPairs | GuardedPairs)]
    if len(scored) == len(tasks):
        spreads, had = [item.spread for item in scored], [item.had for item in scored]
        return GuardedPairs(combined(spreads, reach), had=combined(had, reach), reach=reach)
    return OpenPairs(combined_open([task.spread for task in tasks]))


def _counted(task: AnswerPairs | GuardedPairs | OpenPairs | ReplicatePairs, factor: float) -> GuardedPairs | OpenPairs:
    """A task whose differences count this much: one right answer is no longer as good as another."""
    if isinstance(task, OpenPairs | ReplicatePairs):
        return OpenPairs(replace(task.spread, mean=task.spread.mean * factor, error=task.spread.error * factor))
    return GuardedPairs(scaled(task.spread, factor), had=scaled(task.had, factor), reach=factor)
