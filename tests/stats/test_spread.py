"""The interval of a standard deviation covers it as often as it says."""

from __future__ import annotations

import math

import numpy as np
from tests.stats.coverage import CEILING, DATA_SETS, FLOOR, covered

from assay.stats.spread import spread_interval


def test_a_standard_deviation_of_right_and_wrong_answers_and_of_clusters() -> None:
    random = np.random.default_rng(32)
    right = (random.random((DATA_SETS, 60)) < 0.8).astype(float)
    assert FLOOR <= covered([spread_interval(row, shares=True) for row in right], 0.4) <= CEILING
    groups = np.repeat(np.arange(30), 4)
    draws = random.normal(0.0, 1.0, (DATA_SETS, 30)).repeat(4, axis=1) + random.normal(0.0, 1.0, (DATA_SETS, 120))
    assert FLOOR <= covered([spread_interval(row, groups) for row in draws], math.sqrt(2.0)) <= CEILING
