"""The overall difference of two results: the mean of the tasks' mean differences, each task with the same weight."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from assay.results.diff.differences import OverallDiff
from assay.stats.answers_of_tasks import AnswersOfTasks
from assay.stats.guarded import SkewedT, combined
from assay.stats.paired import AnswerPairs, Evidence, GuardedPairs, OpenPairs, PairedComparison
from assay.stats.task_means import satterthwaite


def overall_diff(compared: Sequence[PairedComparison], level: float) -> OverallDiff:
    """Tested as the tasks are: exactly where few right/wrong answers differ, by a guarded t of scores on a scale."""
    evidence = overall_evidence([task.evidence for task in compared if task.evidence is not None])
    better, worse = evidence.p_values()
    return OverallDiff(
        difference=math.fsum(task.difference or 0.0 for task in compared) / len(compared),
        interval=evidence.interval(level),
        no_drop_interval=evidence.no_drop_interval(level),
        p_value=min(1.0, 2.0 * min(better, worse)),
        p_drop=worse,
        test=str(type(evidence).__struct_config__.tag),
        evidence=evidence,
        least_p_drop=evidence.least_p_drop,
        minimum_detectable_effect=evidence.detectable(level, compared[0].power),
        scale=all(task.scale for task in compared),
    )


def overall_evidence(tasks: Sequence[Evidence]) -> AnswersOfTasks | GuardedPairs | OpenPairs:
    """What the pairs of all tasks say about the mean of the tasks' differences."""
    answers = tuple(task for task in tasks if isinstance(task, AnswerPairs))
    if len(answers) == len(tasks):
        return AnswersOfTasks(answers)
    scored: list[AnswerPairs | GuardedPairs] = [task for task in tasks if not isinstance(task, OpenPairs)]
    if len(scored) == len(tasks):
        return GuardedPairs(combined([each.spread for each in scored]), had=combined([each.had for each in scored]))
    return OpenPairs(_without_a_scale(tasks))


def _without_a_scale(tasks: Sequence[Evidence]) -> SkewedT:
    """Student's t with Welch and Satterthwaite's degrees of freedom."""
    variances = np.array(
        [task.spread.error**2 if isinstance(task, OpenPairs) else task.spread.second for task in tasks]
    )
    degrees = np.array([task.spread.degrees for task in tasks])
    varies = bool(variances.any())
    return SkewedT(
        mean=math.fsum(task.spread.mean for task in tasks) / len(tasks),
        error=math.sqrt(math.fsum(variances)) / len(tasks),
        skew=0.0,
        units=sum(task.spread.units for task in tasks),
        degrees=float(satterthwaite(variances[:, None], degrees[:, None])[0]) if varies else float(degrees.sum()),
    )


def corrected_overall(
    result: OverallDiff, adjusted_p: float, level: float, own_level: float, *, comparisons: int
) -> OverallDiff:
    """With the interval and the detectable difference that belong to the corrected test."""
    hardest = 1.0 - (1.0 - level) / max(1, comparisons)
    return replace(
        result,
        adjusted_p=adjusted_p,
        significant=adjusted_p < 1.0 - level,
        interval=result.evidence.interval(own_level),
        minimum_detectable_effect=result.evidence.detectable(hardest, 0.8),
    )
