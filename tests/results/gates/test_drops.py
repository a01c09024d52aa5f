"""A true drop of exactly the margin is called none in at most one run of twenty: answers, grades, clusters, tasks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from assay.results.diff.overall_difference import overall_diff
from assay.stats.margins import non_inferiority
from assay.stats.paired import compare
from assay.stats.paired_evidence import AnswerPairs

Scores = NDArray[np.float64]
Pairs = tuple[Scores, Scores, NDArray[np.int64] | None]


def answers(n: int, margin: float, gained: float) -> Callable[[np.random.Generator], Pairs]:
    """Right and wrong answers: this share is gained, the same share and the margin are lost."""

    def drawn(random: np.random.Generator) -> Pairs:
        moved = random.choice([1, -1, 0], size=n, p=[gained, gained + margin, 1 - 2 * gained - margin])
        before = np.where(moved == 0, random.integers(0, 2, n), moved < 0).astype(float)
        return before, before + moved, None

    return drawn


def grades(n: int, margin: float) -> Callable[[np.random.Generator], Pairs]:
    """Most answers keep their grade; a few lose all of it."""

    def drawn(random: np.random.Generator) -> Pairs:
        before = random.uniform(0.9, 1.0, n)
        lost = random.random(n) < margin / 0.95
        return before, np.where(lost, 0.0, before), None

    return drawn


def clusters(count: int, size: int, margin: float) -> Callable[[np.random.Generator], Pairs]:
    """Whole passages are lost or kept."""

    def drawn(random: np.random.Generator) -> Pairs:
        groups = np.repeat(np.arange(count), size)
        lost = (random.random(count) < margin)[groups]
        before = np.ones(count * size)
        return before, np.where(lost, 0.0, before), groups

    return drawn


CELLS = {
    "300 answers": (answers(300, 0.05, 0.05), 0.05, 600),
    "200 grades, some lost": (grades(200, 0.05), 0.05, 1000),
    "40 clusters of 5, some lost": (clusters(40, 5, 0.1), 0.1, 1000),
}


def passes(pairs: Pairs, margin: float) -> bool:
    before, after, groups = pairs
    compared = compare(before, after, groups=groups)
    return non_inferiority(compared.margin_interval, margin).outcome == "met"


@pytest.mark.parametrize("cell", list(CELLS))
def test_a_drop_of_exactly_the_margin_hardly_ever_passes(cell: str) -> None:
    drawn, margin, sets = CELLS[cell]
    random = np.random.default_rng(20261116)
    passed = sum(passes(drawn(random), margin) for _ in range(sets)) / sets
    assert passed <= 0.035, passed


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("n", [100, 150, 300])
@pytest.mark.parametrize("gained", [0.0, 0.005, 0.02])
def test_of_right_and_wrong_answers_it_passes_with_half_of_what_the_level_leaves(
    n: int, margin: float, gained: float
) -> None:
    """Every outcome there can be, with its chance from scipy: nothing is left to a simulation."""
    passed = 0.0
    for losses in range(int(scipy_stats.binom.isf(1e-7, n, gained + margin)) + 1):
        chance = scipy_stats.binom.pmf(losses, n, gained + margin)
        for wins in range(int(scipy_stats.binom.isf(1e-7, n, gained)) + 2 if gained else 1):
            here = chance * scipy_stats.binom.pmf(wins, n - losses, gained / (1 - gained - margin))
            interval = AnswerPairs(wins, losses, n, right=losses).margin_interval(0.95)
            if here > 1e-7 and non_inferiority(interval, margin).outcome == "met":
                passed += here
    assert passed <= 0.0255, passed


def test_an_overall_drop_of_exactly_the_margin_hardly_ever_passes() -> None:
    random = np.random.default_rng(20261116)
    drawn, passed = [answers(n, 0.05, 0.05) for n in (30, 40, 60)], 0
    for _ in range(400):
        tasks = [each(random) for each in drawn]
        found = overall_diff([compare(*task[:2]) for task in tasks], 0.95)
        passed += non_inferiority(found.margin_interval, 0.05).outcome == "met"
    assert passed / 400 <= 0.05, passed / 400


def test_no_drop_at_all_is_shown_by_enough_pairs() -> None:
    random = np.random.default_rng(20261116)
    drawn = answers(1000, 0.0, 0.02)
    assert sum(passes(drawn(random), 0.03) for _ in range(60)) >= 55
