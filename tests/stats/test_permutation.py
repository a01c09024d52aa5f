"""The sign-flip test: exact while it can be, close to exact beyond, and never surer than the data."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.permutation import permutation_test


def by_hand(differences: list[float]) -> float:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(each >= observed - 1e-9 for each in sums) / len(sums)


@given(differences=st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=8))
def test_a_few_differences_are_flipped_in_every_way(differences: list[float]) -> None:
    name, p_value = permutation_test(differences)
    assert name == "permutation-exact"
    assert p_value == pytest.approx(by_hand(differences))


@given(differences=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), max_size=30), seed=st.integers(0, 5))
def test_it_is_a_chance_and_does_not_mind_signs_order_or_ties(differences: list[float], seed: int) -> None:
    _, p_value = permutation_test(differences, seed=seed, resamples=200)
    assert 0.0 < p_value <= 1.0
    turned = [-each for each in reversed(differences)]
    assert permutation_test(turned, seed=seed, resamples=200)[1] == pytest.approx(p_value)
    assert permutation_test([*differences, 0.0, 0.0], seed=seed, resamples=200)[1] == pytest.approx(p_value)


def test_monte_carlo_agrees_with_the_exact_test_and_says_what_it_did() -> None:
    differences = [1.0] * 14 + [-1.0] * 4
    name, p_value = permutation_test(differences, seed=3)
    assert name == "permutation|n=10000|seed=3"
    assert p_value == pytest.approx(2 * sum(comb(18, right) for right in range(14, 19)) / 2**18, abs=0.01)


def test_a_total_difference_is_smaller_than_one_in_the_resamples_but_never_nought() -> None:
    _, p_value = permutation_test(np.ones(100), resamples=100)
    assert 0.0 < p_value <= 2 * 2.0**-99


def test_a_cluster_flips_as_one() -> None:
    differences, groups = np.ones(40), np.repeat(np.arange(4), 10)
    assert permutation_test(differences, groups=groups) == ("permutation-exact", 2 / 2**4)
