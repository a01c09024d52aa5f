"""The overall difference of two results: the mean of the tasks' mean differences, each with the weight of its task."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from assay.results.diff.differences import OverallDiff
from assay.stats.answers_of_tasks import evidence_of_tasks
from assay.stats.families import Corrected
from assay.stats.paired import PairedComparison


def overall_diff(
    compared: Sequence[PairedComparison], level: float, factors: Sequence[float] | None = None
) -> OverallDiff:
    """Tested as the tasks are: exactly where few right/wrong answers differ, by a guarded t of scores on a scale.

    `factors` say how much each task counts, 1 on average; without them all count alike.
    """
    counts = factors or [1.0] * len(compared)
    evidence = evidence_of_tasks([task.evidence for task in compared if task.evidence is not None], counts)
    differences = [factor * (task.difference or 0.0) for task, factor in zip(compared, counts, strict=True)]
    return OverallDiff(
        difference=math.fsum(differences) / len(compared),
        interval=evidence.interval(level),
        margin_interval=evidence.margin_interval(level),
        p_value=evidence.p_value,
        p_drop=evidence.p_values()[1],
        test=evidence.test,
        evidence=evidence,
        least_p_drop=evidence.least_p_drop,
        minimum_detectable_effect=evidence.detectable(level, compared[0].power),
        scale=all(task.scale for task in compared),
        power=compared[0].power,
    )


def corrected_overall(result: OverallDiff, corrected: Corrected) -> OverallDiff:
    """With the interval and the detectable difference that belong to the corrected test."""
    evidence = result.evidence
    least, needed, _ = evidence.enough(corrected, result.power)
    return replace(
        result,
        adjusted_p=corrected.adjusted_p,
        significant=corrected.significant,
        interval=evidence.interval(corrected.level),
        minimum_detectable_effect=least,
        needed=needed,
        basis=evidence.basis(corrected, result.interval.level, needed),
    )
