"""The mean over tasks with intervals of their own: the error is theirs, weighted, and known from an interval too."""

from __future__ import annotations

import math

import pytest

from assay.stats.combined_means import TaskScore, combined_mean_interval, weighted_mean_interval
from assay.stats.intervals import mean_interval, wilson


def task(right: int, n: int) -> TaskScore:
    interval = wilson(right, n)
    assert interval.low is not None
    assert interval.high is not None
    return TaskScore(right / n, interval.low, interval.high, 0.95, "wilson", n, interval.standard_error)


def test_a_weighted_mean_adds_the_variances_with_the_squares_of_the_weights() -> None:
    scores, shares = [task(30, 50), task(20, 80)], [0.25, 0.75]
    interval = weighted_mean_interval(scores, shares, 0.95)
    error = math.sqrt((0.25 * math.sqrt(0.6 * 0.4 / 50)) ** 2 + (0.75 * math.sqrt(0.25 * 0.75 / 80)) ** 2)
    mean = 0.25 * 0.6 + 0.75 * 0.25
    assert (interval.low, interval.high) == pytest.approx((mean - 1.959964 * error, mean + 1.959964 * error), abs=1e-6)


def test_a_weighted_mean_of_shares_stays_between_0_and_1() -> None:
    assert weighted_mean_interval([task(1, 3), task(0, 2)], [0.5, 0.5], 0.95).low == 0.0


def test_the_error_follows_from_the_interval_where_it_is_not_known() -> None:
    scores = TaskScore(0.5, 0.4, 0.6, 0.95, "t", 40)
    assert scores.error == pytest.approx(0.1 / 1.959964, abs=1e-6)


def test_values_beyond_1_have_no_scale_to_stay_on() -> None:
    interval = mean_interval([1.5, 2.5, 2.0, 3.0])
    assert interval.low is not None
    assert interval.high is not None
    seconds = TaskScore(2.25, interval.low, interval.high, 0.95, "t", 4, interval.standard_error)
    high = combined_mean_interval([seconds, seconds], 0.95).high
    assert high is not None
    assert high > 1.0
