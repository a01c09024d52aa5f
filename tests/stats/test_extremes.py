"""Largest and smallest values: exact chances by counting, and coverage of a fresh run by simulation."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.extremes import largest_interval, smallest_interval

DATA_SETS = 2000


@pytest.mark.parametrize(("n", "k"), [(4, 1), (4, 3), (5, 4), (6, 2)])
def test_the_chance_of_an_order_statistic_is_what_counting_says(n, k):
    # every way to say which n of 2n ranks are old: the new ones are all below the k-th largest old one …
    ways = list(combinations(range(2 * n), n))
    below = sum(sorted(old)[-k] > max(set(range(2 * n)) - set(old)) for old in ways)
    chance = below / len(ways)
    # … and an interval at just that level begins at that order statistic
    values = np.arange(n, dtype=float)
    assert largest_interval(values, level=1 - chance).low == pytest.approx(n - k, abs=1e-6)


@pytest.mark.parametrize("draw", ["normal", "exponential", "beta"])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_a_fresh_run_has_its_largest_value_inside_as_often_as_stated(draw, n):
    random = np.random.default_rng(n)
    sample = {"normal": random.normal, "exponential": random.exponential, "beta": lambda size: random.beta(2, 5, size)}
    old, new = sample[draw](size=(DATA_SETS, n)), sample[draw](size=(DATA_SETS, n))
    lows = np.array([largest_interval(row).low for row in old])
    highs = np.array([smallest_interval(row).high for row in old])
    assert 0.93 <= (new.max(axis=1) >= lows).mean() <= 0.97
    assert 0.93 <= (new.min(axis=1) <= highs).mean() <= 0.97


def test_clusters_are_drawn_whole_and_the_naive_interval_fails():
    random = np.random.default_rng(3)
    groups = np.repeat(np.arange(30), 20)
    shape = (DATA_SETS, 30)
    old, new = (
        np.repeat(random.normal(size=shape), 20, axis=1) + 0.05 * random.normal(size=(DATA_SETS, 600)) for _ in range(2)
    )
    held = np.mean([top >= largest_interval(row, groups).low for row, top in zip(old, new.max(axis=1), strict=True)])
    naive = np.mean([top >= largest_interval(row).low for row, top in zip(old, new.max(axis=1), strict=True)])
    assert 0.93 <= held <= 0.97
    assert naive < 0.8


def test_too_few_values_have_the_scale_or_a_reason():
    assert (largest_interval([0.4, 0.6], bounds=(0, 1)).low, largest_interval([0.4, 0.6], bounds=(0, 1)).high) == (0, 1)
    assert "too few" in largest_interval([0.4, 0.6]).reason
    assert largest_interval([]).reason == "nothing was scored"


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=60))
def test_the_smallest_is_the_largest_turned_round(values):
    low, high = smallest_interval(values), largest_interval([-value for value in values])
    assert (low.low, low.high) == (-high.high, -high.low)
    assert high.low <= high.high
