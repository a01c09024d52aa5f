"""What the pairs of several tasks say about the mean of the tasks' differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from assay.overriding import override
from assay.stats.guarded import SkewedT, Spread, combined, combined_open, scaled, unguarded
from assay.stats.intervals import Floats, Interval
from assay.stats.paired_evidence import (
    AnswerPairs,
    GuardedPairs,
    JackknifePairs,
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
    """Right/wrong answers together, and a guarded t where any is a mean of scores on a scale; numbers
    that are made of all samples then stand on that scale too, and add their spread. Without such a mean nothing is
    guarded.

    `factors` say how much each task counts in the mean, on average 1; without them all count alike.
    """
    answers = tuple(task for task in tasks if isinstance(task, AnswerPairs))
    if len(answers) == len(tasks) and len(set(factors)) < 2:
        return AnswersOfTasks(answers)
    weights = factors or [1.0] * len(tasks)
    ends = [pair for task in tasks if (pair := _on_scale(task)) is not None]
    if len(ends) < len(tasks) or not any(isinstance(task, AnswerPairs | GuardedPairs) for task in tasks):
        return OpenPairs(
            combined_open([_counted(task.spread, weight) for task, weight in zip(tasks, weights, strict=True)])
        )
    moved, had = (
        combined([scaled(pair[side], weight) for pair, weight in zip(ends, weights, strict=True)], max(weights))
        for side in (0, 1)
    )
    return GuardedPairs(moved, had=had, reach=max(weights))


def _on_scale(task: AnswerPairs | GuardedPairs | OpenPairs | ReplicatePairs) -> tuple[Spread, Spread] | None:
    """The spreads of the difference and of what the first had, on the scale of the scores; None without a scale."""
    if isinstance(task, AnswerPairs | GuardedPairs):
        return task.spread, task.had
    if isinstance(task, JackknifePairs | ReplicatePairs):
        return unguarded(task.spread, task.difference), unguarded(task.spread, max(0.0, task.first))
    return None


def _counted(spread: Spread | SkewedT, factor: float) -> Spread | SkewedT:
    """The spread of a task that counts this much."""
    if isinstance(spread, SkewedT):
        return replace(spread, mean=spread.mean * factor, error=spread.error * factor)
    return scaled(spread, factor)
