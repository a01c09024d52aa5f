"""The guarded t: a reference of its own, its power, and one rule for interval and p-value. How often it errs and covers
is on `docs/coverage.md`.
"""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.stats.guarded import (
    PIECE,
    combined,
    detectable_mean,
    graded_interval,
    guarded_interval,
    p_values,
    skewed_t,
    spread_of,
)
from assay.stats.intervals import mean_interval

UNIT = (-1.0, 1.0)


@pytest.mark.parametrize(("n", "difference", "spread", "least"), [(200, 0.05, 0.1, 0.97), (100, 0.1, 0.3, 0.8)])
def test_a_difference_that_is_there_is_found(n: int, difference: float, spread: float, least: float) -> None:
    random = np.random.default_rng(4)
    draws = np.clip(random.normal(difference, spread, (400, n)), -1.0, 1.0)
    assert np.mean([p_values(spread_of(row), UNIT)[0] <= 0.025 for row in draws]) >= least


@pytest.mark.parametrize(("n", "spread"), [(60, 0.2), (150, 0.1), (400, 0.3)])
def test_the_detectable_difference_is_found_as_often_as_the_power_says(n: int, spread: float) -> None:
    random = np.random.default_rng(5)
    noise = random.normal(0.0, spread, n)
    like_these = spread_of((noise - noise.mean()) / noise.std(ddof=1) * spread)
    effect = detectable_mean(like_these, 1.0, 0.95, 0.8)
    assert effect is not None
    draws = random.normal(effect, spread, (600, n))
    assert np.mean([p_values(spread_of(row), UNIT)[0] <= 0.025 for row in draws]) == pytest.approx(0.8, abs=0.07)


differences = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=40)


@settings(max_examples=60)
@given(differences, st.sampled_from([0.8, 0.9, 0.95, 0.99]), st.floats(-0.5, 0.5))
def test_interval_and_p_values_are_one_rule(values: list[float], level: float, null: float) -> None:
    spread = spread_of(np.array(values))
    interval = guarded_interval(spread, UNIT, level)
    assert interval.low is not None
    assert interval.high is not None
    above, below = p_values(spread, UNIT, null)
    tail = (1.0 - level) / 2.0
    if abs(interval.low - null) > 1e-9:
        assert (interval.low > null) == (above < tail)
    if abs(interval.high - null) > 1e-9:
        assert (interval.high < null) == (below < tail)
    assert interval.low <= spread.mean <= interval.high


@settings(max_examples=40)
@given(differences)
def test_turning_the_signs_mirrors_everything(values: list[float]) -> None:
    there, back = spread_of(np.array(values)), spread_of(-np.array(values))
    assert p_values(there, UNIT) == pytest.approx(p_values(back, UNIT)[::-1])
    forth, turned = guarded_interval(there, UNIT, 0.95), guarded_interval(back, UNIT, 0.95)
    assert (forth.low, forth.high) == pytest.approx((-(turned.high or 0.0), -(turned.low or 0.0)))


def test_it_is_its_definition_written_out() -> None:
    values = np.array([0.1, -0.4, 0.3, 0.25, 0.0, -0.05, 0.6])
    n, mean = len(values), values.mean()
    q = stats.t.ppf(0.975, n - 1)
    loss = -1.0 - mean
    second = ((values - mean) ** 2).sum() / (1.0 - 1.0 / n) + loss**2
    skew = max(0.0, -(((values - mean) ** 3).sum() + loss**3) / second)
    low = mean - (q * math.sqrt(second) + skew * (1.0 + 2.0 * q * q) / 6.0) / n
    assert guarded_interval(spread_of(values), UNIT, 0.95).low == pytest.approx(max(-1.0, low), rel=1e-12)


def test_one_unit_has_no_interval_and_proves_nothing() -> None:
    alone = spread_of(np.array([0.5, 0.6]), np.array([1, 1]))
    assert guarded_interval(alone, UNIT, 0.95).low is None
    assert p_values(alone, UNIT) == (1.0, 1.0)


def test_one_task_alone_is_its_own_mean_of_tasks() -> None:
    spread = spread_of(np.random.default_rng(6).normal(0.1, 0.2, 30))
    assert combined([spread]) == spread


@settings(max_examples=60)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.sampled_from([0.8, 0.95]))
def test_the_corrected_t_is_one_rule_and_never_surer_than_students(values: list[float], level: float) -> None:
    found, interval = skewed_t(np.array(values)), skewed_t(np.array(values)).interval(level)
    if interval.low is None or interval.high is None:
        return
    student = mean_interval(values, level)
    assert student.low is not None
    assert student.high is not None
    assert interval.low <= student.low + 1e-9
    assert interval.high >= student.high - 1e-9
    above, below = found.p_values()
    if abs(interval.low) > 1e-9:
        assert (interval.low > 0.0) == (above < (1.0 - level) / 2.0)
    if abs(interval.high) > 1e-9:
        assert (interval.high < 0.0) == (below < (1.0 - level) / 2.0)


def test_clusters_in_which_nothing_varies_count_whole() -> None:
    codes = np.repeat(np.arange(10), 4)
    assert graded_interval(np.full(40, 0.9), codes).low == pytest.approx(graded_interval(np.full(10, 0.9)).low)


@pytest.mark.parametrize("values", [[0.5, 1.5], [-0.1, 0.5]])
def test_a_value_outside_the_scale_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="outside the scale"):
        graded_interval(np.array(values))


def test_a_scale_of_another_length_changes_the_unit_only() -> None:
    values = np.array([0.2, 0.9, 0.5, 1.0])
    share, marks = graded_interval(values), graded_interval(1.0 + 4.0 * values, bounds=(1.0, 5.0))
    assert (marks.low, marks.high) == pytest.approx((1.0 + 4.0 * (share.low or 0.0), 1.0 + 4.0 * (share.high or 0.0)))
    assert marks.standard_error == pytest.approx(4.0 * (share.standard_error or 0.0))


def test_many_values_need_no_more_memory_than_a_piece_of_them() -> None:
    values = np.random.default_rng(6).exponential(1.0, 8 * PIECE + 7)
    tracemalloc.start()
    found = skewed_t(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < values.nbytes
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(len(values)))
    assert found.skew == pytest.approx(stats.skew(values, bias=False))
    assert found.degrees == len(values) - 1
    grouped = skewed_t(values, np.arange(len(values)))
    assert (grouped.error, grouped.degrees) == pytest.approx((found.error, found.degrees))
