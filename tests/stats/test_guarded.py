"""The guarded t: simulations with a known truth, a reference of its own, and one rule for interval and p-value."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from assay.stats.guarded import combined, detectable_mean, guarded_interval, p_values, skewed_t, spread_of
from assay.stats.intervals import mean_interval

Draw = Callable[[np.random.Generator], NDArray[np.float64]]
UNIT = (-1.0, 1.0)


def losing(n: int, share: float, lost: float = 1.0) -> Draw:
    """Nearly all samples gain up to 0.02, and a few lose nearly everything: B is worse."""

    def drawn(random: np.random.Generator) -> NDArray[np.float64]:
        gains = 0.02 * random.random(n)
        return np.where(random.random(n) < share, -0.9 * lost, gains)

    return drawn


def alike(n: int, losses: float) -> Draw:
    """Losses of everything at this rate, and gains of one size that make up for them: no difference."""
    share = losses / n

    def drawn(random: np.random.Generator) -> NDArray[np.float64]:
        return np.where(random.random(n) < share, -1.0, share / (1.0 - share))

    return drawn


def judged(n: int) -> Draw:
    def drawn(random: np.random.Generator) -> NDArray[np.float64]:
        return (random.integers(1, 6, n) - random.integers(1, 6, n)) / 4.0

    return drawn


CELLS = {
    "3 % of 30 lose all": losing(30, 0.03),
    "3 % of 50 lose all": losing(50, 0.03),
    "1 % of 100 lose all": losing(100, 0.01),
    "3 % of 100 lose all": losing(100, 0.03),
    "0.5 % of 200 lose all": losing(200, 0.005),
    "2 % of 50 lose half": losing(50, 0.02, 0.5),
    "three losses of 100, made up for": alike(100, 3.0),
    "four and a half of 100": alike(100, 4.5),
    "seven of 300": alike(300, 7.0),
    "a judge's marks, n = 30": judged(30),
    "a judge's marks, n = 300": judged(300),
}


def false_verdicts(drawn: Draw, sets: int, seed: int) -> tuple[float, float]:
    """The shares of data sets, of which none is better, that are called better by the guarded t and by Student's."""
    random = np.random.default_rng(seed)
    guarded = plain = 0
    for _ in range(sets):
        values = drawn(random)
        guarded += p_values(spread_of(values), UNIT)[0] <= 0.025
        plain += float(np.ptp(values)) == 0.0 or stats.ttest_1samp(values, 0.0, alternative="greater").pvalue <= 0.025
    return guarded / sets, plain / sets


@pytest.mark.parametrize("cell", CELLS)
def test_what_is_no_better_is_seldom_called_better(cell: str) -> None:
    assert false_verdicts(CELLS[cell], 600, seed=1)[0] <= 0.045


@pytest.mark.prove
@pytest.mark.parametrize("cell", CELLS)
def test_what_is_no_better_is_called_better_in_no_more_than_the_level_allows(cell: str) -> None:
    assert false_verdicts(CELLS[cell], 20_000, seed=2)[0] <= 0.037


def test_student_calls_a_worse_answer_better_where_losses_are_rare() -> None:
    """Or there would be nothing to guard against."""
    assert false_verdicts(CELLS["1 % of 100 lose all"], 300, seed=3)[1] > 0.25


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


@pytest.mark.parametrize("sizes", [(20,) * 5, (5,) * 40, (5, 50, 400), (1,) * 30])
def test_the_mean_of_many_tasks_seldom_cries_wolf(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(7)
    alarms = 0
    for _ in range(500):
        tasks = [np.where(random.random(n) < 0.03, -1.0, 0.03 / 0.97) for n in sizes]
        alarms += p_values(combined([spread_of(task) for task in tasks]), UNIT)[0] <= 0.025
    assert alarms / 500 <= 0.045


@pytest.mark.parametrize(("n", "least"), [(30, 0.92), (100, 0.93)])
def test_the_mean_of_skewed_values_without_a_scale_is_covered(n: int, least: float) -> None:
    random = np.random.default_rng(8)
    truth = math.exp(0.5)
    intervals = [skewed_t(row).interval(0.95) for row in np.exp(random.normal(size=(1500, n)))]
    assert np.mean([(each.low or 0.0) <= truth <= (each.high or 0.0) for each in intervals]) >= least


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
