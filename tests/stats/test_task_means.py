"""The mean over tasks: its interval covers the truth as often as it says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.stats.intervals import Interval
from assay.stats.task_means import TaskMean, mean_of_tasks_interval, satterthwaite, with_shared_ends


def of_tasks(right: NDArray[np.int64], sizes: list[int]) -> Interval:
    shares = right / np.array(sizes)
    means = [
        TaskMean(mean=p, variance=p * (1 - p) / max(1, n - 1), units=n)
        for p, n in zip(shares.tolist(), sizes, strict=True)
    ]
    return mean_of_tasks_interval(means, 0.95)


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**700])
def test_degrees_of_freedom_do_not_depend_on_the_scale(scale: float) -> None:
    variances, degrees = np.array([[0.3], [0.02], [0.0]]), np.array([[19.0], [4.0], [7.0]])
    assert satterthwaite(variances * scale, degrees) == satterthwaite(variances, degrees)
    assert np.isinf(satterthwaite(variances * 0.0, degrees))


def test_tasks_of_one_sample_have_their_common_spread_whatever_larger_tasks_are_among_them() -> None:
    means, units, variances = np.array([0.0, 1.0, 1.0, 0.9]), np.array([1, 1, 1, 50]), np.array([0, 0, 0, 0.09 / 49])
    _, spreads = with_shared_ends(means, units, variances, ends=(0.0, 1.0))
    alone = [0.0, 1.0, 1.0, 0.0, 1.0]  # the three samples, and one at either end
    assert spreads[:3] == pytest.approx([np.var(alone)] * 3)
    # the larger task keeps its own, with the quarter of a sample at either end that is its share
    whole = np.array([*[1.0] * 45, *[0.0] * 5])
    centre = (whole.sum() + 0.25) / 50.5
    squares = ((whole - centre) ** 2).sum() + 0.25 * (centre**2 + (1 - centre) ** 2)
    assert spreads[3] == pytest.approx(squares / (50.5 * 49.5))


def test_equal_shares_are_no_shares() -> None:
    tasks = [TaskMean(mean=mean, variance=mean * (1 - mean) / 19, units=20) for mean in (0.2, 0.5, 0.95)]
    equal = mean_of_tasks_interval(tasks, 0.95, shares=[1 / 3] * 3)
    plain = mean_of_tasks_interval(tasks, 0.95)
    assert (equal.low, equal.high) == pytest.approx((plain.low, plain.high))


def test_a_task_that_counts_all_has_nearly_its_own_interval() -> None:
    tasks = [TaskMean(mean=mean, variance=mean * (1 - mean) / 199, units=200) for mean in (0.2, 0.9)]
    interval = mean_of_tasks_interval(tasks, 0.95, shares=[1.0, 0.0])
    alone = mean_of_tasks_interval(tasks[:1], 0.95)
    assert (interval.low, interval.high) == pytest.approx((alone.low, alone.high), abs=0.01)


def test_weights_on_perfect_tasks_leave_an_interval() -> None:
    tasks = [TaskMean(mean=1.0, variance=0.0, units=10) for _ in range(3)]
    interval = mean_of_tasks_interval(tasks, 0.95, shares=[0.6, 0.2, 0.2])
    assert interval.low is not None
    assert interval.high is not None
    assert 0.5 < interval.low < 0.95 < interval.high <= 1.0
