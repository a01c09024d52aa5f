"""On how many samples a number hangs, from its values without one of them each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FEWEST_THAT_MATTER = 5
"""A number that hangs on fewer units is neither tested nor given an interval by resamples."""


def left_out(units: int, most: int = 200) -> NDArray[np.intp]:
    """The units to leave out one at a time, to see on how many a number hangs: all, or so many of them."""
    return np.sort(np.random.default_rng(0).choice(units, min(units, most), replace=False))


def hangs_on(without: Sequence[float | None], value: float) -> str | None:
    """Why resamples say nothing about a number, from its values without one unit each; None where they may.

    A largest value, or the mean of the largest three, is decided by a few samples that most resamples lack.
    """
    if any(each is None or not math.isfinite(each) for each in without):
        return "without one of its samples, or groups, it is undefined"
    rounding = 1e-12 * max([abs(value), *(abs(each) for each in without if each is not None)])
    matter = sum(abs(each - value) > rounding for each in without if each is not None)
    if matter >= FEWEST_THAT_MATTER:
        return None
    return f"it hangs on {matter} of {len(without)} samples or groups, and needs at least {FEWEST_THAT_MATTER}"
