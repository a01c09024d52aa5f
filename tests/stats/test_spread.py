"""The interval of a standard deviation covers it as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.stats.coverage import CEILING, DATA_SETS, FLOOR, covered

from assay.stats.spread import spread_interval

FEW_VALUES = 1.0
"""Ten values or fewer do not show how skewed they are; narrower, the interval would miss where they are."""


@pytest.mark.parametrize(
    ("draw", "n", "truth", "ceiling"),
    [
        ("normal", 5, 1.0, FEW_VALUES),
        ("normal", 10, 1.0, FEW_VALUES),
        ("normal", 30, 1.0, CEILING),
        ("normal", 100, 1.0, CEILING),
        ("exponential", 30, 1.0, CEILING),
        ("exponential", 100, 1.0, CEILING),
        ("uniform", 30, math.sqrt(1 / 12), CEILING),
    ],
)
def test_a_standard_deviation(draw: str, n: int, truth: float, ceiling: float) -> None:
    draws = getattr(np.random.default_rng(31), draw)(size=(DATA_SETS, n))
    assert FLOOR <= covered([spread_interval(row) for row in draws], truth) <= ceiling


def test_a_standard_deviation_of_right_and_wrong_answers_and_of_clusters() -> None:
    random = np.random.default_rng(32)
    right = (random.random((DATA_SETS, 60)) < 0.8).astype(float)
    assert FLOOR <= covered([spread_interval(row, shares=True) for row in right], 0.4) <= CEILING
    groups = np.repeat(np.arange(30), 4)
    draws = random.normal(0.0, 1.0, (DATA_SETS, 30)).repeat(4, axis=1) + random.normal(0.0, 1.0, (DATA_SETS, 120))
    assert FLOOR <= covered([spread_interval(row, groups) for row in draws], math.sqrt(2.0)) <= CEILING
