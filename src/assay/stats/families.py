"""The comparisons that one report makes together: what is significant among them.

Every surface that draws a conclusion from more than one p-value asks here. Holm's correction keeps the chance of any
false alarm below 1 − level; Benjamini and Hochberg's, for many tasks, the expected share of false ones among the
alarms, as Benjamini and Yekutieli's does whatever the tasks have in common. Each interval says what its corrected test
says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.stats.intervals import check_level

Correction = Literal["holm", "bh", "by"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
CORRECTED_BY: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini–Hochberg", "by": "Benjamini–Yekutieli"}


class Corrected(Struct, frozen=True, kw_only=True):
    """One of several comparisons, corrected for their number."""

    p_value: float
    adjusted_p: float
    significant: bool
    level: float
    """Of the interval that excludes 0 if and only if the comparison is significant."""
    hardest_level: float
    """Of the test that the smallest p-value has to pass: what it finds is found whatever the others are."""
    comparisons: int
    correction: Correction = "holm"


def correct(p_values: Sequence[float], level: float, correction: Correction = "holm") -> list[Corrected]:
    """Correct the comparisons of one report together, in the order given."""
    check_level(level)
    count = len(p_values)
    if correction == "holm":
        adjusted, levels, hardest = holm(p_values), holm_levels(p_values, level), hardest_level(level, count or 1)
    else:
        tests = _harmonic(count) if correction == "by" else 1.0
        adjusted = false_discovery(p_values, factor=tests)
        levels = _selected_levels(adjusted, level, tests)
        hardest = hardest_level(level, max(1.0, count * tests))
    return [
        Corrected(
            p_value=p,
            adjusted_p=own_p,
            significant=own_p < 1.0 - level,
            level=own_level,
            hardest_level=hardest,
            comparisons=count,
            correction=correction,
        )
        for p, own_p, own_level in zip(p_values, adjusted, levels, strict=True)
    ]


def hardest_level(level: float, comparisons: float) -> float:
    """The level that the smallest p-value has to reach: what is found there is found whatever the others are."""
    return 1.0 - (1.0 - level) / comparisons


def correct_known(
    p_values: Sequence[float | None], level: float, correction: Correction = "holm"
) -> list[Corrected | None]:
    """The same where some have no p-value: those are no comparisons, and their place is None."""
    known = iter(correct([p for p in p_values if p is not None], level, correction))
    return [None if p is None else next(known) for p in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given: the chance of any false alarm stays below the level."""
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return [float(value) for value in adjusted]


def false_discovery(p_values: Sequence[float], *, factor: float = 1.0) -> list[float]:
    """Benjamini and Hochberg's (1995) step-up adjusted p-values, in the order given; times a factor, those of Benjamini
    and Yekutieli (2001).
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")[::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] * factor * len(p) / np.arange(len(p), 0, -1)), 1.0)
    return [float(value) for value in adjusted]


def holm_levels(p_values: Sequence[float], level: float) -> list[float]:
    """For each of several tests the level of the interval that says what Holm says: it excludes 0 if and only if the
    corrected test is significant.

    All share the error alike, so that together they hold with the level (Bonferroni). Only what Holm finds beyond that
    has the narrower interval of its own test.
    """
    alpha, count = 1.0 - level, len(p_values)
    levels = [hardest_level(level, count)] * count if count else []
    adjusted = holm(p_values)
    for rank, index in enumerate(np.argsort(np.asarray(p_values, dtype=np.float64), kind="stable").tolist()):
        if adjusted[index] < alpha <= p_values[index] * count:
            levels[index] = 1.0 - alpha / (count - rank)
    return levels


def _selected_levels(adjusted: Sequence[float], level: float, factor: float) -> list[float]:
    """All at the level of the last test that is significant: then the expected share of significant differences whose
    interval misses the truth is at most 1 − level (Benjamini and Yekutieli 2005).
    """
    alpha, count = 1.0 - level, len(adjusted)
    found = sum(p < alpha for p in adjusted)
    return [1.0 - alpha * max(1, found) / (count * factor) for _ in adjusted]


def _harmonic(count: int) -> float:
    return math.fsum(1.0 / place for place in range(1, count + 1))


def _checked(p_values: Sequence[float]) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("p-values lie between 0 and 1")
    return p
