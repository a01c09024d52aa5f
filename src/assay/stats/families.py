"""The comparisons that one report makes together: what is significant among them.

Every surface that draws a conclusion from more than one p-value asks here. Holm's correction keeps the chance of any
false alarm below 1 − level, and each interval is at the level that says what the corrected test says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from assay.stats.intervals import check_level


class Corrected(Struct, frozen=True, kw_only=True):
    """One of several comparisons, corrected by Holm for their number."""

    p_value: float
    adjusted_p: float
    significant: bool
    level: float
    """Of the interval that excludes 0 if and only if the comparison is significant."""
    hardest_level: float
    """Of the test that the smallest p-value has to pass: what it finds is found whatever the others are."""
    comparisons: int


def correct(p_values: Sequence[float], level: float) -> list[Corrected]:
    """Correct the comparisons of one report together, in the order given."""
    check_level(level)
    count = len(p_values)
    return [
        Corrected(
            p_value=p,
            adjusted_p=adjusted,
            significant=adjusted < 1.0 - level,
            level=own_level,
            hardest_level=hardest_level(level, count),
            comparisons=count,
        )
        for p, adjusted, own_level in zip(p_values, holm(p_values), holm_levels(p_values, level), strict=True)
    ]


def hardest_level(level: float, comparisons: int) -> float:
    """The level that the smallest p-value has to reach: what is found there is found whatever the others are."""
    return 1.0 - (1.0 - level) / comparisons


def correct_known(p_values: Sequence[float | None], level: float) -> list[Corrected | None]:
    """The same where some have no p-value: those are no comparisons, and their place is None."""
    known = iter(correct([p for p in p_values if p is not None], level))
    return [None if p is None else next(known) for p in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given: the chance of any false alarm stays below the level."""
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("p-values lie between 0 and 1")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return [float(value) for value in adjusted]


def holm_levels(p_values: Sequence[float], level: float) -> list[float]:
    """For each of several tests the level of the interval that says what Holm says: it excludes 0 if and only if the
    corrected test is significant. What is not significant shares what the significant ones left over.
    """
    alpha, count = 1.0 - level, len(p_values)
    significant = sum(p < alpha for p in holm(p_values))
    levels = [0.0] * count
    for rank, index in enumerate(np.argsort(np.asarray(p_values, dtype=np.float64), kind="stable").tolist()):
        levels[index] = 1.0 - alpha / (count - min(rank, significant))
    return levels
