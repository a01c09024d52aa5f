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

from assay.stats.guarded import (
    combined,
    detectable_mean,
    graded_interval,
    guarded_interval,
    p_values,
    skewed_t,
    spread_of,
)
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


def width_and_coverage(
    draws: NDArray[np.float64], truth: float, groups: NDArray[np.intp] | None = None
) -> tuple[float, float]:
    """The mean width as a multiple of that of t over samples or clusters of equal size, and how often it covers."""
    found = [graded_interval(row, groups) for row in draws]
    units = draws if groups is None else draws.reshape(len(draws), groups.max() + 1, -1).mean(axis=2)
    t = 2.0 * stats.t.ppf(0.975, units.shape[1] - 1) * stats.sem(units, axis=1)
    ends = [(each.low, each.high) for each in found if each.low is not None and each.high is not None]
    assert len(ends) == len(found)
    covered = [low <= truth <= high for low, high in ends]
    return float(np.mean([high - low for low, high in ends]) / t.mean()), float(np.mean(covered))


@pytest.mark.parametrize(
    ("a", "b", "n", "widest"),
    [(8, 4, 30, 1.25), (8, 4, 100, 1.07), (2, 2, 30, 1.08), (9, 1, 100, 1.27)],
)
def test_the_interval_of_ordinary_scores_is_little_wider_than_students(a: int, b: int, n: int, widest: float) -> None:
    width, covered = width_and_coverage(np.random.default_rng(9).beta(a, b, (600, n)), a / (a + b))
    assert width <= widest
    assert covered >= 0.935


def rare_zeros(n: int, zeros: float, sets: int) -> tuple[NDArray[np.float64], float]:
    random, share = np.random.default_rng(10), zeros / n
    scores = np.where(random.random((sets, n)) < share, 0.0, np.clip(random.normal(0.99, 0.003, (sets, n)), 0.0, 1.0))
    return scores, 0.99 * (1.0 - share)


@pytest.mark.parametrize(("n", "zeros"), [(30, 0.5), (30, 5.0), (100, 3.0), (300, 3.5)])
def test_the_interval_of_one_mean_allows_for_zeros_that_were_not_seen(n: int, zeros: float) -> None:
    assert width_and_coverage(*rare_zeros(n, zeros, 600))[1] >= 0.92


@pytest.mark.prove
@pytest.mark.parametrize("n", [10, 30, 100, 300, 1000])
@pytest.mark.parametrize("zeros", [0.3, 0.7, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
def test_the_interval_of_one_mean_covers_at_every_rate_of_zeros(n: int, zeros: float) -> None:
    assert width_and_coverage(*rare_zeros(n, min(zeros, n / 2), 6000))[1] >= 0.925


def in_fives(clusters: int, alike: float, sets: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Beta(8, 4) in clusters of five, correlated within."""
    random, codes = np.random.default_rng(11), np.repeat(np.arange(clusters), 5)
    shared = math.sqrt(alike) * random.normal(size=(sets, clusters))[:, codes]
    normal = shared + math.sqrt(1.0 - alike) * random.normal(size=(sets, len(codes)))
    return stats.beta.ppf(stats.norm.cdf(normal), 8, 4), codes


@pytest.mark.parametrize(
    ("clusters", "alike", "widest"), [(20, 0.0, 1.12), (20, 0.3, 1.18), (20, 0.8, 1.33), (60, 0.3, 1.08)]
)
def test_clusters_widen_the_interval_by_what_their_members_share(clusters: int, alike: float, widest: float) -> None:
    draws, codes = in_fives(clusters, alike, 400)
    width, covered = width_and_coverage(draws, 2.0 / 3.0, codes)
    assert width <= widest
    assert covered >= 0.93


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
