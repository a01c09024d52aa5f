"""A part against the rest: the p-values are SciPy's, and looking at nothing finds nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from assay.stats.subgroups import against_rest, fisher_exact


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 60), st.integers(1, 60))
def test_fisher_equals_scipy(right: int, other_right: int, n: int, other_n: int) -> None:
    right, other_right = min(right, n), min(other_right, other_n)
    expected = scipy_stats.fisher_exact([[right, n - right], [other_right, other_n - other_right]]).pvalue
    assert fisher_exact(right, n, other_right, other_n) == pytest.approx(expected, abs=1e-9)


def test_graded_scores_get_welchs_test() -> None:
    random = np.random.default_rng(3)
    part, rest = random.random(40), random.random(300) * 0.9
    found = against_rest(part, rest)
    assert found is not None
    assert found.test == "welch"
    assert found.p_value == pytest.approx(scipy_stats.ttest_ind(part, rest, equal_var=False).pvalue, abs=1e-9)


def test_few_right_and_wrong_answers_get_the_exact_test() -> None:
    found = against_rest([0.0, 0.0, 0.0, 1.0], [1.0] * 20)
    assert found is not None
    assert (found.test, found.part, found.rest) == ("fisher-exact", 0.25, 1.0)


def test_clusters_make_it_harder_to_be_sure() -> None:
    part, rest = [0.0] * 30 + [1.0] * 30, [1.0] * 180 + [0.0] * 60
    alone = against_rest(part, rest)
    clustered = against_rest(
        part, rest, part_groups=[n // 15 for n in range(60)], rest_groups=[n // 60 for n in range(240)]
    )
    assert alone is not None
    assert clustered is not None
    assert clustered.test == "clustered-welch"
    assert clustered.p_value > 3 * alone.p_value


@pytest.mark.parametrize(("part", "rest"), [([1.0], [0.0, 1.0]), ([], [1.0, 0.0]), ([0.5, 0.5], [0.5, 0.5])])
def test_without_spread_there_is_nothing_to_say(part: list[float], rest: list[float]) -> None:
    assert against_rest(part, rest) is None
