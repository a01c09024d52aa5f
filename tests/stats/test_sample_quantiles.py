"""Intervals of quantiles: exact ranks, coverage with a known truth, and a reason where the values are too few."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.stats.sample_quantiles import fewest, quantile_interval


@pytest.mark.parametrize(("n", "ranks"), [(6, (1, 6)), (30, (10, 21)), (100, (40, 61))])
def test_the_interval_of_a_median_lies_between_two_ranks(n: int, ranks: tuple[int, int]) -> None:
    found = quantile_interval(np.arange(1, n + 1), 0.5)
    assert (found.low, found.high) == ranks


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("n", [80, 333])
def test_the_ranks_are_the_tightest_that_the_binomial_allows(q: float, n: int) -> None:
    found = quantile_interval(np.arange(1, n + 1), q)
    assert found.low == stats.binom.ppf(0.025, n, q)
    assert found.high == stats.binom.ppf(0.975, n, q) + 1


@pytest.mark.parametrize(("q", "count"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.1, 36)])
def test_there_is_no_interval_below_as_many_values_as_both_ends_need(q: float, count: int) -> None:
    assert fewest(q, 0.95) == count
    few = quantile_interval(np.arange(count - 1), q)
    assert (few.low, few.high) == (None, None)
    assert f"needs {count}" in (few.reason or "")
    assert quantile_interval(np.arange(count), q).low is not None


def test_an_end_that_the_values_do_not_show_is_that_of_the_scale() -> None:
    found = quantile_interval([0.2, 0.4, 0.5, 0.9], 0.5, bounds=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, 1.0)


@pytest.mark.parametrize("q", [0.5, 0.9])
@pytest.mark.parametrize("n", [40, 100])
def test_the_truth_is_covered_whatever_the_distribution(q: float, n: int) -> None:
    draws = np.exp(np.random.default_rng(1).normal(size=(1500, n)))
    truth = float(np.exp(stats.norm.ppf(q)))
    found = [quantile_interval(row, q) for row in draws]
    covered = np.mean([(each.low or 0.0) <= truth <= (each.high or 0.0) for each in found])
    assert 0.945 <= covered <= 0.99


def test_ratings_whose_median_is_not_in_doubt_have_an_interval_of_one_number() -> None:
    found = quantile_interval([5.0] * 28 + [4.0] * 4, 0.5)
    assert (found.low, found.high) == (5.0, 5.0)


@pytest.mark.parametrize("alike", [0.3, 0.8])
def test_clusters_widen_it_and_the_truth_is_covered(alike: float) -> None:
    random, codes = np.random.default_rng(2), np.repeat(np.arange(30), 5)
    covered, widths, alone = 0, 0.0, 0.0
    for _ in range(300):
        shared = np.sqrt(alike) * random.normal(size=30)[codes]
        values = shared + np.sqrt(1.0 - alike) * random.normal(size=150)
        found, apart = quantile_interval(values, 0.5, codes), quantile_interval(values, 0.5)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.0 <= found.high
        widths += found.high - found.low
        alone += (apart.high or 0.0) - (apart.low or 0.0)
    assert covered / 300 >= 0.93
    assert widths > 1.2 * alone


def test_without_clusters_of_more_than_one_value_both_ways_hardly_differ() -> None:
    values = np.random.default_rng(3).normal(size=200)
    plain, clustered = quantile_interval(values, 0.5), quantile_interval(values, 0.5, np.arange(200))
    assert clustered.low == pytest.approx(plain.low, abs=0.1)
    assert clustered.high == pytest.approx(plain.high, abs=0.1)


@pytest.mark.parametrize("clusters", [None, [1, 1, 1]])
def test_one_unit_or_none_has_no_interval_and_says_why(clusters: list[int] | None) -> None:
    assert quantile_interval([], 0.5).reason == "nothing was scored"
    assert quantile_interval([1.0, 2.0, 3.0], 0.5, clusters).reason
