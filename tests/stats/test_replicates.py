"""Numbers that are no mean and no sum: compared over the same resamples, and seldom called different by chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.stats.paired import PairedComparison
from assay.stats.replicates import Replicates, compare_quantiles, compare_replicates

Floats = np.ndarray
Number = Callable[[Floats], float]


def seconds(random: np.random.Generator, n: int, slower: float = 1.0, size: int = 1) -> tuple[Floats, Floats]:
    """Log-normal times of two runs that share how long a sample takes; members of a group share it too."""
    hard = np.repeat(random.normal(0.0, 0.7, n // size), size)
    first, second = (np.exp(hard + random.normal(0.0, 0.7, n)) for _ in range(2))
    return first, second * slower


def replicates(values: Floats, number: Number, over: str = "same", draws: int = 200) -> Replicates:
    random = np.random.default_rng(0)
    chosen = (random.integers(0, len(values), len(values)) for _ in range(draws))
    return Replicates(
        value=number(values), draws=[number(values[rows]) for rows in chosen], units=len(values), over=over
    )


def compared(a: Floats, b: Floats, number: Number = np.median) -> PairedComparison:
    return compare_replicates(replicates(a, number), replicates(b, number), n=len(a))


def test_the_difference_of_two_quantiles_is_that_of_the_values() -> None:
    a, b = seconds(np.random.default_rng(1), 200, slower=1.5)
    found = compare_quantiles(a, b, 0.9)
    assert found.difference == pytest.approx(np.quantile(b, 0.9) - np.quantile(a, 0.9))
    assert found.interval.low is not None
    assert found.interval.low > 0.0
    assert found.p_value is not None
    assert found.p_value < 0.05


def test_the_resamples_of_a_quantile_are_those_that_a_loop_draws() -> None:
    a, b = seconds(np.random.default_rng(2), 120)
    evidence = compare_quantiles(a, b, 0.3).evidence
    weights = np.random.default_rng(1).multinomial(120, np.full(120, 1 / 120), size=1000)
    loop = [np.quantile(np.repeat(b, each), 0.3) - np.quantile(np.repeat(a, each), 0.3) for each in weights]
    assert evidence.draws == pytest.approx(sorted(loop))  # type: ignore[union-attr]  # replicates have draws


@pytest.mark.parametrize("level", [0.8, 0.95, 0.98])
def test_the_p_value_is_the_one_that_the_interval_inverts(level: float) -> None:
    random = np.random.default_rng(3)
    for _ in range(40):
        evidence = compared(*seconds(random, 110, slower=1.2)).evidence
        assert evidence is not None
        interval = evidence.interval(level)
        assert interval.low is not None
        assert interval.high is not None
        assert (interval.low <= 0.0 <= interval.high) == (evidence.p_value > 1.0 - level + 1e-12)


def test_swapping_the_two_negates_everything() -> None:
    a, b = seconds(np.random.default_rng(4), 150, slower=1.3)
    for there, back in ((compared(a, b), compared(b, a)), (compare_quantiles(a, b, 0.5), compare_quantiles(b, a, 0.5))):
        assert there.difference == pytest.approx(-(back.difference or 0.0))
        assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))  # type: ignore[operator]  # both have ends
        assert there.p_value == pytest.approx(back.p_value)


def test_where_lower_is_better_a_rise_is_a_loss() -> None:
    a, b = seconds(np.random.default_rng(5), 200, slower=2.0)
    for found in (
        compare_quantiles(a, b, 0.5, lower_is_better=True),
        compare_replicates(replicates(a, np.median), replicates(b, np.median), n=200, lower_is_better=True),
    ):
        assert (found.difference or 0.0) < 0.0
        assert (found.p_drop or 1.0) < 0.01


def test_a_level_that_so_few_resamples_do_not_show_has_no_interval_and_no_star() -> None:
    a, b = seconds(np.random.default_rng(6), 200, slower=9.0)
    first, second = replicates(a, np.median, draws=50), replicates(b, np.median, draws=80)
    evidence = compare_replicates(first, second, n=200).evidence
    assert evidence is not None
    assert evidence.interval(0.95).low is not None
    assert "50 resamples are too few" in (evidence.interval(0.999).reason or "")
    assert evidence.p_value > 0.001


def test_what_cannot_be_compared_is_refused_with_its_reason() -> None:
    a, b = seconds(np.random.default_rng(7), 200)
    other = compare_replicates(replicates(a, np.median), replicates(b, np.median, over="other"), n=200)
    assert "not over the same samples" in (other.reason or "")
    assert "fewer than 100" in (compare_quantiles(a[:99], b[:99], 0.5).reason or "")
    marks = np.repeat([1.0, 4.0, 5.0], [40, 120, 40])
    assert "hangs on 0 of 200" in (compare_quantiles(marks, marks[::-1], 0.5).reason or "")
    some = Replicates(value=1.0, draws=[None, 1.0] * 100, units=200, over="same")
    assert "50% of the resamples" in (compare_replicates(some, some, n=200).reason or "")


def test_equal_runs_do_not_differ() -> None:
    a, _ = seconds(np.random.default_rng(8), 200)
    found = compare_quantiles(a, a, 0.5)
    assert (found.difference, found.p_value, found.interval.low) == (0.0, 1.0, None)


def test_many_samples_are_resampled_in_blocks() -> None:
    a, b = seconds(np.random.default_rng(10), 6000, slower=1.1)
    found = compare_quantiles(a, b, 0.5)
    # the standard error of a median: 1 / (2 f(m) √n), here of correlated logarithms; the order of size is the point
    assert found.interval.standard_error == pytest.approx(0.0197, rel=0.15)


NUMBERS: dict[str, Number] = {
    "median": lambda values: float(np.median(values)),
    "geometric mean": lambda values: float(np.exp(np.log(values).mean())),
    "mean without the tenths": lambda values: float(np.sort(values)[len(values) // 10 : -(len(values) // 10)].mean()),
}


def rates(n: int, sets: int, seed: int, number: Number | None, slower: float = 1.0) -> tuple[float, float]:
    """How often the interval holds the true difference of medians (or of `number`), and how often one is found."""
    random, covered, found = np.random.default_rng(seed), 0, 0
    truth = slower - 1.0  # of numbers that are the median here, and scale with the values
    for _ in range(sets):
        a, b = seconds(random, n, slower)
        result = compare_quantiles(a, b, 0.5) if number is None else compared(a, b, number)
        low, high = result.interval.low, result.interval.high
        covered += low is not None and high is not None and low <= truth <= high
        found += result.p_value is not None and result.p_value < 0.05
    return covered / sets, found / sets


def test_an_excerpt_of_how_seldom_it_errs() -> None:
    assert rates(100, 25, 1, None)[1] <= 0.12
    assert rates(100, 25, 2, NUMBERS["geometric mean"])[1] <= 0.12


@pytest.mark.prove
@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("name", ["quantile", *NUMBERS])
def test_replicates_seldom_err_from_a_hundred_samples(n: int, name: str) -> None:
    assert rates(n, 1000, 5, NUMBERS.get(name))[1] <= 0.07
    if name != "mean without the tenths":
        assert rates(n, 1000, 6, NUMBERS.get(name), slower=1.3)[0] >= 0.93
