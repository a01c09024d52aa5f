"""What a budget buys, before it is spent."""

from __future__ import annotations

import pytest

from assay.optimize.budget import estimate


def test_the_estimate_counts_seed_proposals_and_testset() -> None:
    found = estimate(100, dataset=20, valset=10, testset=15, minibatch=3)
    assert (found.for_the_seed, found.per_proposal, found.per_accepted) == (10, 6, 10)
    assert (found.fewest_proposals, found.most_proposals) == (90 // 16, 90 // 6)
    assert found.outside_the_budget == 30
    assert "about 5 to 15 proposals" in found.in_words()
    assert found.warning() is None


def test_without_sets_a_proposal_costs_two_calls() -> None:
    found = estimate(10, dataset=1, valset=1, testset=0, minibatch=3)
    assert (found.for_the_seed, found.per_proposal, found.most_proposals) == (1, 2, 4)
    assert "testset" not in found.in_words()


@pytest.mark.parametrize("budget", [1, 5, 30])
def test_too_small_a_budget_is_warned_about(budget: int) -> None:
    assert "too small" in (estimate(budget, dataset=20, valset=20, testset=0, minibatch=3).warning() or "")
