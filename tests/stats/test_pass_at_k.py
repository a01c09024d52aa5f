"""pass@k against the published estimator's values and against drawing k attempts in every possible way."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.pass_at_k import majority_at_k, pass_at_k, pass_hat_k


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [
        # the estimator published with HumanEval, run on these inputs
        (1, 0, 1, 0.0),
        (1, 1, 1, 1.0),
        (5, 0, 1, 0.0),
        (5, 3, 1, 0.6),
        (5, 3, 2, 0.9),
        (5, 3, 5, 1.0),
        (10, 3, 5, 0.9166666667),
        (10, 1, 10, 1.0),
        (200, 1, 100, 0.5),
        (200, 3, 10, 0.1433074463),
    ],
)
def test_published_values(n, c, k, value):
    assert pass_at_k(n, c, k) == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 2, 5), (3, 0, 5), (0, 0, 1), (3, 1, 0), (3, 4, 1), (3, -1, 1)])
@pytest.mark.parametrize("estimator", [pass_at_k, pass_hat_k, majority_at_k])
def test_fewer_attempts_than_k_is_an_error_not_a_guess(estimator, n, c, k):
    with pytest.raises(ValueError, match="attempts"):
        estimator(n, c, k)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_estimates_average_over_all_ways_to_choose_k(counts):
    n, c, k = counts
    chosen = [sum(draw) for draw in combinations([1] * c + [0] * (n - c), k)]
    assert pass_at_k(n, c, k) == pytest.approx(sum(right > 0 for right in chosen) / len(chosen))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(right == k for right in chosen) / len(chosen))
    votes = [1.0 if 2 * right > k else 0.5 if 2 * right == k else 0.0 for right in chosen]
    assert majority_at_k(n, c, k) == pytest.approx(sum(votes) / len(votes))


def test_thousands_of_attempts_neither_overflow_nor_round_to_certainty():
    assert 0.0 < pass_at_k(10_000, 1, 5000) < 1.0
