"""The chance of a fall by shuffling: exact where it can be counted, and alarms no more often than their level."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.stats.level_shifts import can_fall, fall, fall_p, possible_starts, window_levels

Scores = NDArray[np.float64]


def counted(scores: Scores, window: int) -> float:
    """Every way to choose which of a sample's scores came last."""
    runs = scores.shape[1]
    last = list(itertools.combinations(range(runs), window))
    weights = 1.0 / window + 1.0 / (runs - window)
    centred = (scores.mean(axis=1, keepdims=True) - scores) * weights
    seen = centred[:, -window:].sum()
    sums = np.zeros(1)
    for row in centred:
        sums = (sums[:, None] + np.array([row[list(chosen)].sum() for chosen in last])).ravel()
    return float((sums >= seen - 1e-9).mean())


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("kind", ["right and wrong", "ratings"])
def test_it_is_the_share_of_all_shuffles(window: int, kind: str) -> None:
    for seed in range(8):
        random = np.random.default_rng(seed)
        scores = (random.random((7, 4)) < 0.6).astype(float)
        if kind == "ratings":
            scores = random.integers(1, 5, (6, 4)).astype(float)
        scores[:, -window:] *= random.random((len(scores), window)) < 0.6
        if (exact := counted(scores, window)) < 0.1:
            assert fall_p(scores, window) == pytest.approx(exact)
        else:
            assert fall_p(scores, window) > 0.05


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_of_graded_scores_it_is_near_that_share(window: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores = random.random((7, 4))
    scores[:, -window:] *= random.random((7, window))
    exact = counted(scores, window)
    assert fall_p(scores, window) == pytest.approx(exact, rel=0.3, abs=0.005)
    assert fall_p(scores, window, level=exact) == pytest.approx(exact, rel=0.35, abs=0.003), "drawn near its level"


def test_the_most_extreme_outcome_is_exact() -> None:
    scores = np.ones((6, 2))
    scores[:, -1] = 0.0
    assert fall_p(scores, 1) == pytest.approx(0.5**6)
    graded = np.array([[0.9, 0.8, 0.1], [0.7, 0.6, 0.2], [0.5, 0.5, 0.5]])
    assert fall_p(graded, 1) == pytest.approx(1 / 9), "the third sample never moved"


def test_a_rise_and_what_never_moved_are_no_fall() -> None:
    assert fall_p(np.array([[0.0, 1.0]] * 20), 1) == 1.0
    assert fall_p(np.ones((20, 5)), 2) == 1.0
    assert fall_p(np.full((3, 4), np.nan), 1) == 1.0


def test_what_is_missing_is_left_out() -> None:
    scores = np.array([[1.0, 1.0, 0.0], [1.0, np.nan, 0.0], [np.nan, np.nan, 0.0], [1.0, 1.0, np.nan]])
    assert fall_p(scores, 1) == pytest.approx(1 / 3 * 1 / 2)


@pytest.mark.parametrize("kind", ["right and wrong", "graded", "with gaps"])
def test_false_alarms_stay_below_their_level(kind: str) -> None:
    random = np.random.default_rng(11)
    alarms = 0
    for _ in range(150):
        chances = random.beta(2.0, 1.0, (60, 1))
        scores = (random.random((60, 6)) < chances).astype(float)
        if kind == "graded":
            scores = np.clip(random.normal(chances, 0.15, (60, 6)), 0.0, 1.0)
        elif kind == "with gaps":
            scores[random.random((60, 6)) < 0.1] = np.nan
        alarms += fall_p(scores, 2, level=0.05) <= 0.05
    assert alarms / 150 <= 0.09


def test_the_chance_of_a_false_alarm_is_spent_in_order_and_never_exceeds_its_sum() -> None:
    spent = [sum(window_levels(run, run, 0.05).values()) for run in range(1, 3000)]
    assert math.fsum(spent) <= 0.05
    assert spent == sorted(spent, reverse=True)
    assert list(window_levels(9, 9, 0.05)) == [1, 2, 4, 8]
    assert list(window_levels(9, 3, 0.05)) == [1, 2], "only so many runs of the level"


def test_few_samples_are_blind() -> None:
    levels = window_levels(1, 1, 0.025)
    assert not can_fall(np.ones((5, 2)), levels, np.zeros(5))
    assert can_fall(np.ones((12, 2)), levels, np.zeros(12))


def test_the_start_of_a_fall_is_among_the_possible_ones() -> None:
    random = np.random.default_rng(12)
    held, lengths = 0, []
    for _ in range(100):
        chances = random.beta(4.0, 1.0, (200, 1))
        before, after = random.random((200, 8)) < chances, random.random((200, 4)) < chances - 0.15
        starts = possible_starts(np.column_stack([before, after]).astype(float))
        held += 8 in starts
        lengths.append(len(starts))
    assert held >= 93
    assert np.median(lengths) <= 4


def test_the_most_significant_window_is_the_one_that_is_told() -> None:
    scores = np.ones((30, 8))
    scores[:9, -2:] = 0.0
    found = fall(scores, window_levels(7, 7, 0.025))
    assert found is not None
    assert (found.window, found.is_alarm) == (2, True)


def test_next_to_the_largest_sum_it_is_bounded() -> None:
    scores = np.random.default_rng(1).random((6, 4)) + 1.0
    scores[:, -1] = 0.0
    scores[0, 0] = -1e-8
    assert 2 * 0.25**6 <= fall_p(scores, 1) <= 4 * 0.25**6


def test_the_loss_of_nearly_everything_is_no_chance_in_any_window() -> None:
    scores = np.clip(np.random.default_rng(2).normal(0.8, 0.05, (300, 31)), 0.0, 1.0)
    scores[:, -16:] *= 0.01
    scores[:9, 3] = 0.0
    for window in (1, 2, 4, 8, 16):
        assert fall_p(scores, window, level=1e-5) < 1e-5
