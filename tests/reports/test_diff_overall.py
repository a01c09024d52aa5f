"""The difference over all tasks: coverage and false alarms by simulation, also for clusters and few pairs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from assay.reports.diff_overall import overall_diff
from assay.stats.paired import PairedComparison, compare, paired_share_difference

DATA_SETS = 2000
Draw = Callable[[np.random.Generator, float], PairedComparison]


def right_and_wrong(random: np.random.Generator, truth: float) -> PairedComparison:
    return _answers(random, 100, 0.1, truth)


def seldom_different(random: np.random.Generator, truth: float) -> PairedComparison:
    return _answers(random, 50, 0.06, truth)


def _answers(random: np.random.Generator, n: int, differ: float, truth: float) -> PairedComparison:
    move = random.choice([1, -1, 0], size=n, p=[(differ + truth) / 2, (differ - truth) / 2, 1 - differ])
    same = random.random(n) < 0.7
    before = np.where(move == 0, same, move < 0).astype(float)
    return compare(before, before + move, resamples=2)


def graded(random: np.random.Generator, truth: float) -> PairedComparison:
    return compare(np.zeros(15), random.normal(truth, 0.2, 15), resamples=2)


def clustered(random: np.random.Generator, truth: float) -> PairedComparison:
    groups = np.repeat(np.arange(8), 10)
    moves = random.normal(truth, 0.2, 8)[groups] + random.normal(0.0, 0.2, 80)
    return compare(np.zeros(80), moves, groups=groups, resamples=2)


def naive(random: np.random.Generator, truth: float) -> PairedComparison:
    """The same clusters, not told."""
    moves = np.repeat(random.normal(truth, 0.2, 8), 10) + random.normal(0.0, 0.2, 80)
    return compare(np.zeros(80), moves, resamples=2)


CASES = {
    "right and wrong": [right_and_wrong] * 4,
    "graded": [graded] * 3,
    "clustered": [clustered] * 3,
    "two clustered": [clustered] * 2,
    "mixed": [right_and_wrong, graded, clustered, seldom_different],
}


def simulated(draws: list[Draw], truth: float) -> tuple[float, float]:
    """Share of data sets whose interval covers the truth, and share with a p-value below 0.05."""
    random = np.random.default_rng(11)
    covered = alarms = 0
    for _ in range(DATA_SETS):
        found = overall_diff([draw(random, truth) for draw in draws], 0.95)
        low, high = found.interval.low, found.interval.high
        covered += found.difference == truth if low is None or high is None else low <= truth <= high
        alarms += found.p_value < 0.05
    return covered / DATA_SETS, alarms / DATA_SETS


@pytest.mark.parametrize("name", CASES)
def test_the_overall_interval_covers_and_the_test_seldom_cries_wolf(name: str) -> None:
    covered, alarms = simulated(CASES[name], 0.0)
    assert 0.93 <= covered <= 0.97
    assert 0.03 <= alarms <= 0.07


def test_it_covers_a_difference_that_is_there() -> None:
    assert 0.93 <= simulated([right_and_wrong, clustered], 0.03)[0] <= 0.97


def test_few_differing_pairs_make_it_careful_and_untold_clusters_make_it_wrong() -> None:
    assert simulated([seldom_different] * 4, 0.0)[1] <= 0.05
    assert simulated([naive] * 3, 0.0)[0] < 0.8


def test_two_graded_tasks_are_a_welch_interval() -> None:
    random = np.random.default_rng(5)
    first, second = random.normal(0.1, 0.1, 12), random.normal(0.3, 0.5, 30)
    found = overall_diff([compare(np.zeros(12), first), compare(np.zeros(30), second)], 0.9)
    # half the sum of two means is half the difference of one and the other turned round
    expected = stats.ttest_ind(first, -second, equal_var=False)
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    ends = expected.confidence_interval(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low / 2, ends.high / 2), rel=1e-9)


def test_one_right_wrong_task_has_the_error_of_bonett_and_price() -> None:
    only = compare([1.0, 1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0, 1.0])
    error = overall_diff([only], 0.95).interval.standard_error
    assert error == pytest.approx(paired_share_difference(2, 1, 5).standard_error)
    assert error is not None
    assert math.isfinite(error)
