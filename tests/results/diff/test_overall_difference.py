"""The difference over all tasks: coverage and false alarms by simulation, also for clusters and few pairs."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from assay.results.diff.differences import OverallDiff
from assay.results.diff.overall_difference import overall_diff
from assay.stats.paired import PairedComparison, compare
from assay.stats.paired_evidence import paired_share_difference

SWEEP = pytest.param(2000, 0.02, marks=pytest.mark.prove, id="2000")
EXCERPT = pytest.param(400, 0.035, id="400")
simulations = pytest.mark.parametrize(("data_sets", "error"), [EXCERPT, SWEEP])
"""How many data sets, and how far the share of those that are covered may lie from 95 % by their number alone."""
Draw = Callable[[np.random.Generator, float], PairedComparison]


def task(before: ArrayLike, after: ArrayLike, groups: NDArray[np.uint64] | None = None) -> PairedComparison:
    return compare(before, after, groups=groups)


def overall(found: Sequence[PairedComparison], level: float = 0.95) -> OverallDiff:
    return overall_diff(found, level)


def right_and_wrong(random: np.random.Generator, truth: float) -> PairedComparison:
    return _answers(random, 100, 0.1, truth)


def seldom_different(random: np.random.Generator, truth: float) -> PairedComparison:
    return _answers(random, 50, 0.06, truth)


def _answers(random: np.random.Generator, n: int, differ: float, truth: float) -> PairedComparison:
    move = random.choice([1, -1, 0], size=n, p=[(differ + truth) / 2, (differ - truth) / 2, 1 - differ])
    same = random.random(n) < 0.7
    before = np.where(move == 0, same, move < 0).astype(float)
    return task(before, before + move)


def graded(random: np.random.Generator, truth: float) -> PairedComparison:
    return task(np.zeros(15), random.normal(truth, 0.2, 15))


def clustered(random: np.random.Generator, truth: float) -> PairedComparison:
    groups = np.repeat(np.arange(8, dtype=np.uint64), 10)
    moves = random.normal(truth, 0.2, 8)[groups.astype(int)] + random.normal(0.0, 0.2, 80)
    return task(np.zeros(80), moves, groups=groups)


def naive(random: np.random.Generator, truth: float) -> PairedComparison:
    """The same clusters, not told."""
    moves = np.repeat(random.normal(truth, 0.2, 8), 10) + random.normal(0.0, 0.2, 80)
    return task(np.zeros(80), moves)


CASES = {
    "right and wrong": [right_and_wrong] * 4,
    "graded": [graded] * 3,
    "clustered": [clustered] * 3,
    "two clustered": [clustered] * 2,
    "mixed": [right_and_wrong, graded, clustered, seldom_different],
}


def simulated(draws: list[Draw], truth: float, data_sets: int) -> tuple[float, float]:
    """Share of data sets whose interval covers the truth, and share with a p-value below 0.05."""
    random = np.random.default_rng(11)
    covered = alarms = 0
    for _ in range(data_sets):
        found = overall([draw(random, truth) for draw in draws])
        low, high = found.interval.low, found.interval.high
        covered += found.difference == truth if low is None or high is None else low <= truth <= high
        alarms += found.p_value < 0.05
    return covered / data_sets, alarms / data_sets


@simulations
@pytest.mark.parametrize("name", CASES)
def test_the_overall_interval_covers_and_the_test_seldom_cries_wolf(name: str, data_sets: int, error: float) -> None:
    covered, alarms = simulated(CASES[name], 0.0, data_sets)
    assert covered == pytest.approx(0.95, abs=error)
    assert alarms == pytest.approx(0.05, abs=error)


@simulations
def test_it_covers_a_difference_that_is_there(data_sets: int, error: float) -> None:
    assert simulated([right_and_wrong, clustered], 0.03, data_sets)[0] == pytest.approx(0.95, abs=error)


@simulations
def test_few_differing_pairs_make_it_careful_and_untold_clusters_make_it_wrong(data_sets: int, error: float) -> None:
    assert simulated([seldom_different] * 4, 0.0, data_sets)[1] <= 0.05
    assert simulated([naive] * 3, 0.0, data_sets)[0] < 0.8


def test_two_graded_tasks_are_a_welch_interval() -> None:
    random = np.random.default_rng(5)
    first, second = random.normal(0.1, 0.1, 12), random.normal(0.3, 0.5, 30)
    found = overall([task(np.zeros(12), first), task(np.zeros(30), second)], 0.9)
    # half the sum of two means is half the difference of one and the other turned round
    expected = stats.ttest_ind(first, -second, equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    ends = expected.confidence_interval(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low / 2, ends.high / 2), rel=1e-9)


def test_one_right_wrong_task_has_the_error_of_bonett_and_price() -> None:
    only = task([1.0, 1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0, 1.0])
    error = overall([only]).interval.standard_error
    theirs = paired_share_difference(2, 1, 5).standard_error
    assert theirs is not None
    # but for what few pairs lack: the variance is divided by one pair less
    assert error == pytest.approx(theirs * math.sqrt(7 / 6))


FEW = {
    "one pair": [task([1], [0])],
    "one pair in each of two tasks": [task([1], [0]), task([1], [0])],
    "two and three pairs": [task([1, 1, 1], [1, 0, 0]), task([1, 1], [0, 0])],
    "graded, all by the same amount": [task([0.5] * 3, [0.25] * 3), task([0.5] * 2, [0.25] * 2)],
    "two clusters of many": [task(np.ones(20), np.zeros(20), np.repeat(np.arange(2, dtype=np.uint64), 10))],
}


@pytest.mark.parametrize("name", FEW)
def test_few_samples_never_prove_anything(name: str) -> None:
    found = overall(FEW[name])
    assert found.p_value > 0.05
    assert found.interval.low is None or found.interval.low >= -1.0
    assert found.interval.high is None or found.interval.high >= 0.0
    assert found.minimum_detectable_effect is None


def test_few_answers_that_differ_are_tested_exactly_over_all_tasks() -> None:
    assert overall([task([1], [0]), task([1], [0])]).p_value == 0.5
    assert overall([task([1, 1, 1], [1, 0, 0]), task([1, 1], [0, 0])]).p_value == 0.125


def test_the_exact_test_weighs_tasks_and_not_samples() -> None:
    """Three losses of a small task against three gains of a large one: all 64 ways, each flip with its weight."""
    small, large = task([1.0] * 3, [0.0] * 3), task([0.0] * 3 + [1.0] * 997, [1.0] * 1000)
    sizes = np.array([1 / 3] * 3 + [1 / 1000] * 3)
    sums = np.abs(np.array(list(itertools.product((-1.0, 1.0), repeat=6))) @ sizes)
    assert overall([small, large]).p_value == pytest.approx(float(np.mean(sums >= 1 - 0.003 - 1e-12)))


@functools.cache
def five_answers(wins: int, losses: int) -> PairedComparison:
    before = [0.0] * wins + [1.0] * (5 - wins)
    return task(before, [1.0] * wins + [0.0] * losses + [1.0] * (5 - wins - losses))


@simulations
def test_fifty_seven_tasks_of_five_answers_seldom_cry_wolf(data_sets: int, error: float) -> None:
    random = np.random.default_rng(12)
    moves = random.multinomial(5, [0.15, 0.15, 0.7], (data_sets, 57))
    alarms = covered = 0
    for data_set in moves.tolist():
        found = overall([five_answers(wins, losses) for wins, losses, _ in data_set])
        assert found.interval.low is not None
        assert found.interval.high is not None
        covered += found.interval.low <= 0.0 <= found.interval.high
        alarms += found.p_value < 0.05
    assert covered / data_sets == pytest.approx(0.95, abs=error)
    assert alarms / data_sets <= 0.06
