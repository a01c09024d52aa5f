"""The same within a margin: seldom said at the margin, found with enough samples, one rule with the interval."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.stats.margins import same_within, smallest_margin
from assay.stats.paired import compare
from assay.stats.paired_evidence import AnswerPairs, GuardedPairs, OpenPairs

Pairs = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64] | None]
MARGIN = 0.05


def flips(share_of_losses: float, share_of_wins: float, n: int) -> Callable[[np.random.Generator], Pairs]:
    def drawn(random: np.random.Generator) -> Pairs:
        rest = 1.0 - share_of_losses - share_of_wins
        move = random.choice([-1.0, 0.0, 1.0], size=n, p=[share_of_losses, rest, share_of_wins])
        first = np.where(move == 0.0, random.random(n) < 0.7, move < 0.0).astype(float)
        return first, first + move, None

    return drawn


def rare_losses(n: int) -> Callable[[np.random.Generator], Pairs]:
    """5 in 100 samples lose everything, the rest nothing: a drop of exactly the margin."""

    def drawn(random: np.random.Generator) -> Pairs:
        first = np.full(n, 0.999)
        return first, np.where(random.random(n) < MARGIN / 0.999, 0.0, first), None

    return drawn


def shifted(n: int, sign: float) -> Callable[[np.random.Generator], Pairs]:
    def drawn(random: np.random.Generator) -> Pairs:
        first = random.uniform(0.3, 0.7, n)
        return first, first + random.normal(sign * MARGIN, 0.1, n), None

    return drawn


def clusters(random: np.random.Generator) -> Pairs:
    codes = np.repeat(np.arange(120), 4)
    move = random.normal(MARGIN, 0.1, 120)[codes]
    first = random.uniform(0.3, 0.6, 480)
    return first, np.clip(first + move, 0.0, 1.0), codes


AT_THE_MARGIN = {
    "losses only, n = 100": flips(MARGIN, 0.0, 100),
    "losses only, n = 400": flips(MARGIN, 0.0, 400),
    "wins only, n = 200": flips(0.0, MARGIN, 200),
    "both ways, n = 400": flips(0.1 + MARGIN, 0.1, 400),
    "rare total losses, n = 100": rare_losses(100),
    "rare total losses, n = 300": rare_losses(300),
    "a shift up, n = 150": shifted(150, 1.0),
    "a shift down, n = 400": shifted(400, -1.0),
    "clusters": clusters,
}


def called_the_same(drawn: Callable[[np.random.Generator], Pairs], sets: int, seed: int) -> float:
    random, same = np.random.default_rng(seed), 0
    for _ in range(sets):
        first, second, groups = drawn(random)
        evidence = compare(first, second, groups=groups).evidence
        assert evidence is not None
        interval = evidence.margin_interval(0.95)
        same += interval.low is not None and interval.low >= -MARGIN and (interval.high or 0.0) <= MARGIN
    return same / sets


@pytest.mark.parametrize("cell", AT_THE_MARGIN)
def test_what_differs_by_the_margin_is_seldom_called_the_same(cell: str) -> None:
    assert called_the_same(AT_THE_MARGIN[cell], 250, seed=1) <= 0.06


def test_what_does_not_differ_is_found_to_be_the_same() -> None:
    assert called_the_same(flips(0.01, 0.01, 600), 100, seed=3) >= 0.95


@pytest.mark.parametrize(
    "evidence",
    [
        AnswerPairs(8, 11, 500, right=300),
        compare(*shifted(200, 0.3)(np.random.default_rng(4))[:2]).evidence,
        compare([5.0, 9.0, 7.0, 6.0, 8.0], [5.01, 9.02, 6.99, 6.01, 8.0]).evidence,
    ],
)
def test_the_p_value_and_the_interval_are_one_rule(evidence: AnswerPairs | GuardedPairs | OpenPairs) -> None:
    [found] = same_within([evidence], MARGIN, 0.95)
    assert 0.0 < found.p_value < 1.0
    for level, holds in ((1.0 - found.p_value * 1.01, True), (1.0 - found.p_value * 0.99, False)):
        interval = evidence.margin_interval(level)
        assert interval.low is not None
        assert interval.high is not None
        assert (interval.low >= -MARGIN and interval.high <= MARGIN) == holds


def test_several_claims_are_corrected_together() -> None:
    alone, several = AnswerPairs(2, 2, 150, right=100), [AnswerPairs(2, 2, 150, right=100)] * 3
    [one] = same_within([alone], MARGIN, 0.95)
    assert (one.basis.level, one.basis.comparisons) == (0.95, 1)
    assert one.basis.method == f"{alone.method}, on both sides of the margin"
    assert one.same
    assert [each.adjusted_p for each in same_within(several, MARGIN, 0.95)] == [pytest.approx(3 * one.p_value)] * 3


def test_a_difference_beyond_the_margin_is_not_the_same_however_many_samples() -> None:
    [found] = same_within([AnswerPairs(0, 600, 6000, right=5000)], MARGIN, 0.95)
    assert (found.same, found.p_value) == (False, 1.0)


def test_a_margin_is_more_than_0() -> None:
    with pytest.raises(ValueError, match="more than 0"):
        same_within([AnswerPairs(0, 0, 10, right=5)], 0.0, 0.95)


@pytest.mark.parametrize("units", [20, 60, 190, 1000])
def test_the_smallest_margin_is_what_unchanged_scores_reach_graded_or_not(units: int) -> None:
    margin = smallest_margin(units, 0.95)
    assert margin is not None
    lows = [compare(scores, scores).margin_interval.low for scores in (np.full(units, 0.5), np.ones(units))]
    assert margin == pytest.approx(max(-(low or 0.0) for low in lows))


def test_one_sample_reaches_no_margin_and_sixty_about_six_hundredths() -> None:
    assert smallest_margin(1, 0.95) is None
    assert smallest_margin(60, 0.95) == pytest.approx(0.0602, abs=0.0005)


def test_a_declared_largest_loss_makes_smaller_margins_reachable() -> None:
    whole, quarter = smallest_margin(60, 0.95), smallest_margin(60, 0.95, 0.25)
    assert whole is not None
    assert quarter is not None
    assert quarter < whole / 3
