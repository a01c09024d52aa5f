"""Our distribution functions against scipy's."""

from statistics import NormalDist

import pytest
from scipy import stats

from assay.stats.quantiles import (
    binomial_half_tail,
    chi_squared_quantile,
    f_quantile,
    incomplete_beta,
    normal_cdf,
    normal_quantile,
    student_t_quantile,
    student_t_tail,
)

PROBABILITIES = [1e-6, 0.005, 0.025, 0.05, 0.3, 0.5, 0.7, 0.9, 0.975, 0.995, 0.9995]


def test_the_quantile_of_95_percent_is_the_one_that_would_be_computed():
    assert normal_quantile(0.975) == pytest.approx(NormalDist().inv_cdf(0.975), rel=1e-15)


@pytest.mark.parametrize("p", PROBABILITIES)
def test_normal_quantile_equals_scipy(p):
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-12, abs=1e-12)
    assert normal_cdf(normal_quantile(p)) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 9, 29.5, 100, 999, 1001, 5000, 1e6])
def test_student_t_quantile_equals_scipy(p, degrees):
    assert student_t_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-9, abs=1e-9)


def test_table_value_of_student_t():
    # Fisher & Yates, table III: 5 % two-sided with 10 degrees
    assert round(student_t_quantile(0.975, 10), 3) == 2.228


@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 2.5, 8.0, 40.0])
@pytest.mark.parametrize("degrees", [1, 5, 50, 500])
def test_student_t_tail_equals_scipy(t, degrees):
    assert student_t_tail(t, degrees) == pytest.approx(stats.t.sf(t, degrees), rel=1e-9)


@pytest.mark.parametrize(("x", "a", "b"), [(0.1, 0.5, 2), (0.9, 3, 0.5), (0.5, 20, 30), (0, 1, 1), (1, 1, 1)])
def test_incomplete_beta_equals_scipy(x, a, b):
    assert incomplete_beta(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-10)


@pytest.mark.parametrize(
    ("k", "n"),
    [(0, 1), (3, 10), (400, 1000), (0, 1001), (3, 1100), (480, 1001), (9_000, 20_000), (499_000, 1_000_000)],
)
def test_binomial_tail_equals_scipy(k, n):
    assert binomial_half_tail(k, n) == pytest.approx(stats.binom.cdf(k, n, 0.5), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize(("p", "degrees"), [(0, 3), (1, 3), (0.5, 0), (float("nan"), 3)])
def test_impossible_quantiles_are_refused(p, degrees):
    with pytest.raises(ValueError, match="degrees"):
        student_t_quantile(p, degrees)


@pytest.mark.parametrize("p", [0.025, 0.5, 0.975])
@pytest.mark.parametrize("degrees", [1, 4, 9, 200])
def test_quantiles_of_mean_squares_equal_scipy(p, degrees):
    assert chi_squared_quantile(p, degrees) == pytest.approx(stats.chi2.ppf(p, degrees), rel=1e-9)
    assert f_quantile(p, degrees, 7.0 * degrees) == pytest.approx(stats.f.ppf(p, degrees, 7.0 * degrees), rel=1e-9)
