"""Closed-form intervals: few-shot examples, scipy and statsmodels as oracles, and coverage by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import fractional_matrix_power
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from assay.core.errors import UsageError
from assay.stats.intervals import (
    Interval,
    cluster_degrees,
    clustered_mean_interval,
    clustered_wilson,
    mean_interval,
    wilson,
)

DATA_SETS = 2000


def test_wilson_textbook_example():
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3: 81 of 263 and 15 of 148
    assert _rounded(wilson(81, 263)) == (0.2553, 0.3662)
    assert _rounded(wilson(15, 148)) == (0.0624, 0.1605)


def test_wilson_keeps_its_width_at_the_ends():
    # Newcombe 1998, same table: 0 of 20 and 1 of 29
    assert _rounded(wilson(0, 20)) == (0.0, 0.1611)
    assert _rounded(wilson(1, 29)) == (0.0061, 0.1718)
    assert wilson(20, 20).low == pytest.approx(1 - 0.1611, abs=1e-4)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (3, 10), (999, 1000), (50_000, 1_000_000)])
def test_wilson_equals_statsmodels(successes, n, level):
    low, high = proportion_confint(successes, n, 1 - level, method="wilson")
    interval = wilson(successes, n, level)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 500, 5000])
def test_mean_interval_equals_scipy(n):
    values = np.random.default_rng(n).gamma(2.0, size=n)
    expected = stats.t.interval(0.9, n - 1, loc=values.mean(), scale=stats.sem(values))
    interval = mean_interval(values, 0.9)
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-9)


def test_standard_error_of_nine_right_and_one_wrong_is_a_tenth():
    assert mean_interval([1.0] * 9 + [0.0]).standard_error == pytest.approx(0.1, abs=1e-15)


def test_clustered_error_of_equal_clusters_equals_statsmodels_cluster_covariance():
    random = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 8)[:96]
    values = random.normal(size=96) + groups
    fit = OLS(values, np.ones(96)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    clusters = len(np.unique(groups))
    expected = fit.bse[0] * np.sqrt(clusters / (clusters - 1))
    assert clustered_mean_interval(values, groups).standard_error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [[4] * 6, [1, 2, 3, 4, 30], [20, 1, 1, 1, 1, 1, 1, 20]])
def test_clustered_error_and_degrees_are_those_of_bell_and_mccaffrey(sizes):
    """By their matrices: residuals of each cluster times (I − H)^(−1/2), and the moments of that quadratic form."""
    random = np.random.default_rng(7)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = random.normal(size=len(codes)) + random.normal(size=len(sizes))[codes]
    n = len(codes)
    ones = np.ones((n, 1))
    annihilator = np.eye(n) - ones @ ones.T / n
    columns, squares = [], 0.0
    for cluster in range(len(sizes)):
        inside = np.flatnonzero(codes == cluster)
        adjusted = fractional_matrix_power(annihilator[np.ix_(inside, inside)], -0.5).real @ np.ones(len(inside)) / n
        squares += float(adjusted @ (annihilator @ values)[inside]) ** 2
        columns.append(annihilator[:, inside] @ adjusted)
    moments = np.linalg.eigvalsh(np.column_stack(columns).T @ np.column_stack(columns))
    found = clustered_mean_interval(values, codes)
    assert found.standard_error == pytest.approx(math.sqrt(squares), rel=1e-9)
    assert cluster_degrees(sizes) == pytest.approx(moments.sum() ** 2 / (moments**2).sum(), rel=1e-9)


def test_one_value_per_cluster_is_the_plain_interval():
    values = np.random.default_rng(1).random(40)
    plain, clustered = mean_interval(values), clustered_mean_interval(values, np.arange(40))
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


def test_five_copies_of_each_sample_say_no_more_than_one():
    values = np.random.default_rng(2).random(30)
    once = mean_interval(values)
    copied = clustered_mean_interval(np.repeat(values, 5), np.repeat(np.arange(30), 5))
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high), rel=1e-12)
    assert mean_interval(np.repeat(values, 5)).low > once.low


def test_groups_may_be_any_labels():
    by_text = clustered_mean_interval([0.1, 0.2, 0.9, 0.4], ["b", "b", "a", "c"])
    assert by_text == clustered_mean_interval([0.1, 0.2, 0.9, 0.4], [7, 7, 3, 9])


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        (wilson(0, 0), "nothing was scored"),
        (mean_interval([]), "nothing was scored"),
        (mean_interval([0.3]), "one value"),
        (mean_interval([0.1] * 7), "all 7 values are equal"),
        (clustered_mean_interval([0.1, 0.2], [1, 1]), "one cluster"),
        (clustered_mean_interval([], []), "nothing was scored"),
        (clustered_wilson([1, 0], [1, 1]), "one cluster"),
    ],
)
def test_no_interval_where_the_data_cannot_support_one(interval, reason):
    assert interval.low is None
    assert interval.high is None
    assert reason in interval.reason


def test_repeated_perfect_answers_keep_a_width():
    # ten samples, five attempts each, all right: as sure as ten right answers, not as fifty, and not certain
    interval = clustered_wilson([1.0] * 50, np.repeat(np.arange(10), 5))
    assert interval.high == 1.0
    assert interval.low < wilson(10, 10).low < wilson(50, 50).low


@pytest.mark.parametrize("level", [0.0, 1.0, 95, -0.5, float("nan")])
def test_a_level_that_is_no_share_is_reported_in_a_sentence(level):
    for make in (
        lambda: wilson(1, 2, level),
        lambda: mean_interval([1, 2], level),
        lambda: clustered_mean_interval([1, 2], [1, 2], level),
        lambda: clustered_wilson([1, 0], [1, 2], level),
    ):
        with pytest.raises(UsageError, match=r"such as 0\.95"):
            make()


def test_values_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        mean_interval([0.5, float("nan")])
    with pytest.raises(ValueError, match="one-dimensional"):
        mean_interval([[0.5], [0.1]])
    with pytest.raises(ValueError, match="one group per value"):
        clustered_mean_interval([0.5, 0.1], [1])
    with pytest.raises(ValueError, match="0 <= successes <= n"):
        wilson(3, 2)


def test_clipping_keeps_the_interval_inside_the_range_of_the_measure():
    interval = mean_interval([1.0, 0.9, 1.0, 0.2])
    assert interval.high > 1.0
    assert interval.clipped(0.0, 1.0).high == 1.0
    assert interval.clipped(0.0, 1.0).low == interval.low
    assert mean_interval([1.0]).clipped(0.0, 1.0).low is None


def test_signature_is_the_definition_in_one_line():
    assert wilson(3, 4).signature("mean") == "mean|wilson|level=0.95"


values_and_groups = st.lists(st.tuples(st.floats(-100, 100, width=32), st.integers(0, 5)), min_size=2, max_size=40)


@given(values_and_groups, st.randoms(use_true_random=False))
def test_intervals_contain_the_mean_grow_with_the_level_and_ignore_order(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    for make in (_plain, clustered_of):
        narrow, wide, moved = make(pairs, 0.8), make(pairs, 0.95), make(shuffled, 0.95)
        assert (wide.low is None) == (moved.low is None)
        if wide.low is None:
            continue
        mean = np.mean([value for value, _ in pairs])
        slack = 1e-9
        assert wide.low - slack <= narrow.low <= mean + slack
        assert mean - slack <= narrow.high <= wide.high + slack
        assert (moved.low, moved.high) == pytest.approx((wide.low, wide.high), abs=1e-8)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_share_and_grows_with_the_level(counts):
    successes, n = counts
    narrow, wide = wilson(successes, n, 0.8), wilson(successes, n, 0.95)
    assert 0.0 <= wide.low <= narrow.low <= successes / n <= narrow.high <= wide.high <= 1.0


@pytest.mark.parametrize(("p", "n"), [(0.5, 40), (0.8, 100), (0.95, 300)])
def test_wilson_covers_the_truth_as_often_as_it_says(p, n):
    draws = np.random.default_rng(11).binomial(n, p, size=DATA_SETS)
    assert 0.93 <= np.mean([_covers(wilson(int(k), n), p) for k in draws]) <= 0.97


def test_student_t_covers_the_truth_as_often_as_it_says():
    draws = np.random.default_rng(12).normal(0.4, 0.2, size=(DATA_SETS, 8))
    assert 0.93 <= np.mean([_covers(mean_interval(row), 0.4) for row in draws]) <= 0.97


def test_clustered_interval_covers_where_the_naive_one_fails():
    random = np.random.default_rng(13)
    clusters, size = 30, 8
    groups = np.repeat(np.arange(clusters), size)
    shared = random.normal(0.0, 1.0, size=(DATA_SETS, clusters)).repeat(size, axis=1)
    draws = shared + random.normal(0.0, 1.0, size=shared.shape)
    robust = np.mean([_covers(clustered_mean_interval(row, groups), 0.0) for row in draws])
    naive = np.mean([_covers(mean_interval(row), 0.0) for row in draws])
    assert 0.93 <= robust <= 0.97
    assert naive < 0.75


def test_clustered_wilson_covers_repeated_attempts_where_wilson_fails():
    random = np.random.default_rng(14)
    samples, attempts = 60, 5
    groups = np.repeat(np.arange(samples), attempts)
    # each sample has its own chance of success: mean of Beta(2, 1) is 2/3
    chances = random.beta(2.0, 1.0, size=(DATA_SETS, samples)).repeat(attempts, axis=1)
    draws = (random.random(chances.shape) < chances).astype(float)
    robust = np.mean([_covers(clustered_wilson(row, groups), 2 / 3) for row in draws])
    naive = np.mean([_covers(wilson(int(row.sum()), row.size), 2 / 3) for row in draws])
    assert 0.93 <= robust <= 0.97
    assert naive < 0.85


def clustered_of(pairs, level):
    return clustered_mean_interval([value for value, _ in pairs], [group for _, group in pairs], level)


def _plain(pairs, level):
    return mean_interval([value for value, _ in pairs], level)


def _covers(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def _rounded(interval: Interval) -> tuple[float, float]:
    return round(interval.low, 4), round(interval.high, 4)
