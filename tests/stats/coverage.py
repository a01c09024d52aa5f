"""How often intervals cover the truth, over simulated data sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assay.stats.intervals import Interval

DATA_SETS = 2000


FLOOR, CEILING = 0.93, 0.97


NOISE = 0.01
"""Two standard errors of a share of 95 % among 2,000."""


Draws = NDArray[np.float64]


def least_attainable(n: int, rare: float) -> float:
    """How often an interval can hold the truth where only the number of rare outcomes tells one data set from another:
    the least of the sums of consecutive binomial probabilities that is not below the level.
    """
    below = np.concatenate([[0.0], stats.binom.cdf(np.arange(n + 1), n, rare)])
    sums = below[None, :] - below[:, None]
    return float(sums[sums >= 0.95].min())


def all_or_nothing(n: int, rare: float) -> float:
    """The ceiling of such a case."""
    return max(CEILING, least_attainable(n, rare) + NOISE)


def covered(intervals: list[Interval], truth: float) -> float:
    found = [each for each in intervals if each.low is not None and each.high is not None]
    assert found
    return float(np.mean([each.low - 1e-12 <= truth <= each.high + 1e-12 for each in found]))


def uniform(random: np.random.Generator, shape: tuple[int, int]) -> Draws:
    return random.random(shape)
