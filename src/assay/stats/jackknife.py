"""Two runs compared by a number that is made of sums over the samples, such as F1: a jackknife t of the number itself.

Leaving one sample out of both runs at a time shows how much the difference of the two numbers hangs on each. It is
exact, without chance, and one call computes all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.guarded import SkewedT
from assay.stats.intervals import Floats, check_level, rows_by_cluster
from assay.stats.leaving_out import FEWEST_THAT_MATTER
from assay.stats.paired import PairedComparison, refused
from assay.stats.paired_evidence import JackknifePairs
from assay.stats.sums import value_of_sums
from assay.task_records import Sums


def compare_sums(
    first: Floats,
    second: Floats,
    ratio: Sums,
    *,
    lower_is_better: bool = False,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> PairedComparison:
    """Compare two runs by the rows of numbers whose sums make their scores, one row of each per sample.

    The standard error is the jackknife's over samples, or clusters; t has as many degrees of freedom as units differ,
    less one, so that few changes claim little. Without five units that matter there is no comparison, and the reason.
    """
    check_level(level)
    unit = "sample" if groups is None else "group"
    sides = [rows_by_cluster(rows, groups)[0] for rows in (first, second)]
    totals = [rows.sum(axis=0) for rows in sides]
    sign = -1.0 if lower_is_better else 1.0
    whole = [sign * float(value_of_sums(ratio, total[None, :])[0]) for total in totals]
    if not all(map(math.isfinite, whole)):
        return refused("the score of one of the two is undefined over the samples that both have", level)
    without = [sign * value_of_sums(ratio, total - rows) for total, rows in zip(totals, sides, strict=True)]
    differences, difference = without[1] - without[0], whole[1] - whole[0]
    if not np.isfinite(differences).all():
        return refused(f"without a single {unit} the score is undefined", level)
    units, differ = len(differences), int((sides[0] != sides[1]).any(axis=1).sum())
    rounding = 1e-12 * max(abs(whole[0]), abs(whole[1]))
    matter = int((np.abs(differences - difference) > rounding).sum())
    if units < FEWEST_THAT_MATTER or (differ and matter < FEWEST_THAT_MATTER):
        most = units if units < FEWEST_THAT_MATTER else matter
        return refused(f"the difference hangs on {most} {unit}s, and a test needs at least {FEWEST_THAT_MATTER}", level)
    spread = float(((differences - differences.mean()) ** 2).sum()) if differ else 0.0
    evidence = JackknifePairs(
        SkewedT(
            mean=difference,
            error=math.sqrt((units - 1.0) / units * spread),
            skew=0.0,
            units=units,
            degrees=max(1.0, differ - 1.0),
        ),
        first=whole[0],
    )
    interval = evidence.interval(level)
    return PairedComparison(
        n=len(first),
        clusters=None if groups is None else units,
        first=whole[0],
        second=whole[1],
        difference=difference,
        interval=interval,
        margin_interval=evidence.margin_interval(level),
        p_value=evidence.p_value,
        p_drop=evidence.p_values()[1],
        test=evidence.test,
        evidence=evidence,
        ties=int((first == second).all(axis=1).sum()),
        minimum_detectable_effect=evidence.detectable(level, power),
        least_p_drop=evidence.least_p_drop,
        power=power,
        signature=f"paired|{interval.method}|{evidence.test}|level={level:g}",
    )
