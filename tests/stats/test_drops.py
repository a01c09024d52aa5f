"""A drop is tested on its own side, and a test that could find none says so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.stats.drops import drop_tests
from assay.stats.intervals import Interval, no_interval
from assay.stats.margins import non_inferiority
from assay.stats.paired import compare


def test_one_side_is_half_of_two() -> None:
    lost = compare([1.0] * 30, [1.0] * 22 + [0.0] * 8)
    assert lost.p_drop == pytest.approx(stats.binomtest(8, 8, alternative="greater").pvalue)
    gained = compare([1.0] * 22 + [0.0] * 8, [1.0] * 30)
    assert gained.p_drop is not None
    assert gained.p_drop > 0.99


def test_five_samples_cannot_show_a_drop_after_correction_and_six_in_six_tasks_neither() -> None:
    alone = compare([1.0] * 5, [0.0] * 5)
    [test] = drop_tests([alone.p_drop], [alone.least_p_drop], 0.95)
    assert (test.p_value, test.significant, test.can_tell) == (2**-5, True, True)
    four = compare([1.0] * 4, [0.0] * 4)
    [test] = drop_tests([four.p_drop], [four.least_p_drop], 0.95)
    assert (test.attainable, test.significant, test.can_tell) == (2**-4, False, False)
    unchanged = compare([1.0] * 6, [1.0] * 6)
    tests = drop_tests([unchanged.p_drop] * 6, [unchanged.least_p_drop] * 6, 0.95)
    assert [(each.attainable, each.can_tell) for each in tests] == [(6 * 2**-6, False)] * 6


def test_only_what_the_first_run_had_can_be_lost() -> None:
    """Four right answers of forty: not even their loss is a significant drop; with none there is nothing to lose."""
    found = compare([1.0] * 4 + [0.0] * 36, [1.0] * 4 + [0.0] * 36)
    assert found.least_p_drop == 2.0**-4
    floor = compare([0.0] * 40, [0.0] * 40)
    [test] = drop_tests([floor.p_drop], [floor.least_p_drop], 0.95)
    assert (test.attainable, test.can_tell, test.significant) == (None, True, False)


@pytest.mark.parametrize(("clusters", "can_tell"), [(2, False), (5, False), (6, False), (8, True)])
def test_a_handful_of_clusters_cannot_show_a_drop_and_says_so(clusters: int, can_tell: bool) -> None:
    """However many answers each has: one more cluster that gained everything would undo the loss of a few."""
    codes = np.repeat(np.arange(clusters), 25)
    found = compare(np.ones(len(codes)), np.zeros(len(codes)), groups=codes)
    [test] = drop_tests([found.p_drop], [found.least_p_drop], 0.95)
    assert found.p_drop == pytest.approx(found.least_p_drop)
    assert (test.can_tell, test.significant) == (can_tell, can_tell)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(-0.01, 0.03, "met"), (-0.02, 0.0, "met"), (-0.05, 0.01, "cannot tell"), (-0.2, -0.1, "not met")],
)
def test_a_drop_within_a_margin(low: float, high: float, outcome: str) -> None:
    assert non_inferiority(Interval(low=low, high=high, level=0.95, method="t"), 0.02).outcome == outcome


def test_without_an_interval_there_is_no_verdict() -> None:
    assert non_inferiority(no_interval("t", 0.95, "one pair"), 0.02).outcome == "cannot tell"
    with pytest.raises(ValueError, match="0 or more"):
        non_inferiority(no_interval("t", 0.95, "one pair"), -0.02)
