"""What a comparison will find: against published formulas, and against the tests on data with known truth."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from statsmodels.stats.power import TTestPower

from assay.stats.answers_of_tasks import AnswersOfTasks
from assay.stats.expected import EarlierScores, of_two_runs
from assay.stats.guarded import p_values, spread_of
from assay.stats.intervals import Floats
from assay.stats.mcnemar_power import detectable_share_difference
from assay.stats.paired import AnswerPairs, compare
from assay.stats.power import Expected, power_of, samples_needed, smallest_difference


def answers(samples: int, flips: float, noise: float = 0.0, group: float = 1.0, icc: float = 0.0) -> Expected:
    return Expected(
        samples=samples, variance=flips, noise=noise, right_wrong=True, group=group, icc=icc, largest_difference=1.0
    )


def scores(samples: int, deviation: float, largest: float | None = 1.0) -> Expected:
    return Expected(samples=samples, variance=deviation**2, noise=0.0, right_wrong=False, largest_difference=largest)


@pytest.mark.parametrize(("n", "flips", "difference"), [(100, 0.2, 0.1), (300, 0.15, 0.05), (50, 0.24, 0.19)])
def test_power_of_right_and_wrong_is_the_share_of_all_outcomes_that_mcnemar_finds(
    n: int, flips: float, difference: float
) -> None:
    """Summed over every number of flips and of wins with scipy's binomial; no approximation."""
    share = (flips + difference) / (2.0 * flips)
    found = 0.0
    for m in range(1, n + 1):
        wins = np.arange(m // 2 + 1, m + 1)
        significant = wins[2.0 * stats.binom.sf(wins - 1, m, 0.5) <= 0.05]
        found += stats.binom.pmf(m, n, flips) * stats.binom.pmf(significant, m, share).sum()
    assert power_of([answers(n, flips)], difference) == pytest.approx(found, abs=1e-9)


def test_a_difference_on_top_of_the_disagreement_is_harder_to_find_than_one_within_it() -> None:
    task = answers(100, 0.2)
    within, on_top = (smallest_difference([task], on_top=each) for each in (False, True))
    assert within is not None
    assert on_top == pytest.approx(detectable_share_difference(10, 10, 100), abs=1e-6)
    assert within == pytest.approx(0.128, abs=0.006)
    assert on_top == pytest.approx(0.177, abs=0.006)


@pytest.mark.parametrize(("n", "deviation", "difference"), [(100, 0.1, 0.05), (200, 0.1, 0.03), (50, 0.2, 0.1)])
def test_power_of_graded_scores_is_what_the_guarded_test_has(n: int, deviation: float, difference: float) -> None:
    random = np.random.default_rng(2)
    found = np.mean(
        [p_values(spread_of(random.normal(difference, deviation, n)), (-1.0, 1.0))[0] <= 0.025 for _ in range(1000)]
    )
    assert power_of([scores(n, deviation)], difference) == pytest.approx(found, abs=0.035)


def rare_losses(n: int, random: np.random.Generator) -> Floats:
    """Small gains, and one loss in twenty of most of the scale."""
    return np.where(random.random(n) < 0.05, -0.6, random.normal(0.06, 0.05, n))


def right_tailed(n: int, random: np.random.Generator) -> Floats:
    return random.beta(2.0, 8.0, n)


@pytest.mark.parametrize("draw", [rare_losses, right_tailed])
@pytest.mark.parametrize("group", [1, 4])
def test_power_from_two_skewed_runs_is_what_their_comparison_has_on_either_side(
    draw: Callable[[int, np.random.Generator], Floats], group: int
) -> None:
    random, n, difference = np.random.default_rng(6), 150 * group, 0.035
    samples, centre = np.arange(40_000), float(draw(400_000, random).mean())
    groups = samples // group
    before = np.full(len(samples), 0.5)
    after = before + np.repeat(draw(len(samples) // group, random), group)
    first, second = (EarlierScores(samples=samples, values=each, groups=groups) for each in (before, after))
    task = of_two_runs(first, second, n, share=True).expected
    tail = math.copysign(1.0, task.third)
    for easier, side in ((False, -tail), (True, tail)):
        found = []
        for _ in range(1500):
            drawn = np.repeat(draw(n // group, random), group) - centre + side * difference
            found.append(p_values(spread_of(drawn, groups[:n]), (-1.0, 1.0))[0 if side > 0.0 else 1] <= 0.025)
        assert power_of([task], difference, easier=easier) == pytest.approx(np.mean(found), abs=0.03)


@pytest.mark.parametrize(("n", "effect"), [(30, 0.5), (100, 0.3), (400, 0.14)])
def test_power_without_a_scale_is_that_of_a_t_test(n: int, effect: float) -> None:
    expected = TTestPower().power(effect_size=effect, nobs=n, alpha=0.05)
    assert power_of([scores(n, 1.0, None)], effect) == pytest.approx(expected, abs=0.012)


def test_samples_needed_are_the_fewest_that_have_the_power() -> None:
    for task, difference in ((answers(100, 0.15), 0.05), (scores(100, 0.1), 0.02), (scores(100, 1.0, None), 0.2)):
        needed = samples_needed([task], difference)
        assert needed is not None
        assert power_of([task], difference, samples=needed) >= 0.8
        assert power_of([task], difference, samples=int(needed * 0.97)) < 0.8
        assert smallest_difference([task], samples=needed) == pytest.approx(difference, rel=0.02)


def test_samples_needed_have_the_power_of_the_exact_test_where_many_pairs_differ() -> None:
    """The usual formula says 2,941, with which the exact test finds the difference in 78.8 %."""
    needed = samples_needed([answers(100, 0.15)], 0.02)
    assert needed is not None
    found = 0.0
    for flips in range(300, 640):
        ways = np.arange(flips + 1)
        significant = 2.0 * stats.binom.sf(ways - 1, flips, 0.5) <= 0.05
        one_way = stats.binom.pmf(ways, flips, 0.085 / 0.15)[significant].sum()
        found += stats.binom.pmf(flips, needed, 0.15) * one_way
    assert found == pytest.approx(0.8, abs=0.004)


def test_more_comparisons_need_more_samples() -> None:
    alone, of_ten = (samples_needed([answers(100, 0.15)], 0.05, level=1.0 - 0.05 / k) for k in (1, 10))
    assert alone is not None
    assert of_ten is not None
    z = stats.norm.ppf([0.975, 0.9975]) + stats.norm.ppf(0.8)
    assert of_ten / alone == pytest.approx((z[1] / z[0]) ** 2, rel=0.05)


def repeated(n: int, repeat: int, difference: float, random: np.random.Generator) -> tuple[list[float], list[float]]:
    """The means of attempts of two models whose chances to be right differ by this on every sample."""
    chance = random.beta(2.0, 2.0, n) * (1.0 - difference)
    return tuple(list(random.binomial(repeat, p) / repeat) for p in (chance, chance + difference))  # type: ignore[return-value]


@pytest.mark.parametrize("repeat", [2, 8])
def test_repeats_reduce_only_the_noise_of_attempts(repeat: int) -> None:
    n, difference, random = 200, 0.08, np.random.default_rng(3)
    found = []
    for _ in range(600):
        first, second = repeated(n, repeat, difference, random)
        found.append(p_values(spread_of(np.subtract(second, first)), (-1.0, 1.0))[0] < 0.025)
    chances = random.beta(2.0, 2.0, 200_000) * (1.0 - difference)
    noise = float(np.mean([p * (1.0 - p) for p in (chances, chances + difference)])) * 2.0
    task = answers(n, noise + difference**2, noise)
    assert power_of([task], difference, repeat=repeat) == pytest.approx(np.mean(found), abs=0.05)


def test_where_all_noise_is_of_the_samples_repeats_do_not_help() -> None:
    once, often = (power_of([answers(300, 0.2, 0.0, group=1.0)], 0.06, repeat=each) for each in (2, 50))
    assert once == pytest.approx(often)


def test_groups_count_as_one_sample_where_their_answers_move_together() -> None:
    together = power_of([answers(800, 0.5, group=10.0, icc=1.0)], 0.25)
    apart = power_of([answers(800, 0.5, group=10.0, icc=0.0)], 0.25)
    assert together < apart
    random = np.random.default_rng(4)
    found = []
    for _ in range(600):
        moved = np.repeat(random.choice([1.0, 0.0, -1.0], p=[0.375, 0.5, 0.125], size=80), 10)
        before = np.where(moved < 0.0, 1.0, 0.0)
        result = compare(before, before + moved, groups=np.repeat(np.arange(80), 10))
        found.append(result.p_value is not None and result.p_value < 0.05)
    assert together == pytest.approx(np.mean(found), abs=0.05)


def test_a_handful_of_samples_has_no_power() -> None:
    """One of two tasks comes in groups of four: of ten samples it has one, with a spread that is anything."""
    tasks = [answers(120, 0.4, 0.3), replace(scores(120, 0.3), group=4.0)]
    chances = [power_of(tasks, 0.02, samples=samples, repeat=3) for samples in range(6, 60, 2)]
    assert max(chances) < 0.065


def test_six_groups_never_show_a_difference() -> None:
    assert smallest_difference([answers(63, 0.3, group=10.5)]) is None


def test_power_of_the_overall_difference_is_what_its_test_has() -> None:
    """Three tasks of right and wrong answers; many tests of data drawn with the stated difference."""
    tasks = [answers(100, 0.2), answers(200, 0.1), answers(50, 0.3)]
    difference, random, found = 0.08, np.random.default_rng(5), []
    for _ in range(1000):
        pairs = []
        for task in tasks:
            gain, loss = (task.variance + difference) / 2.0, (task.variance - difference) / 2.0
            wins, losses, _ = random.multinomial(task.samples, [gain, loss, 1.0 - gain - loss])
            pairs.append(AnswerPairs(int(wins), int(losses), task.samples, task.samples // 2))
        found.append(AnswersOfTasks(tuple(pairs)).p_values()[0] <= 0.025)
    assert power_of(tasks, difference) == pytest.approx(np.mean(found), abs=0.04)


def test_a_difference_that_the_disagreement_cannot_hold_takes_all_of_it() -> None:
    """Two models that disagree on one sample in a hundred cannot differ by five: then every flip goes one way."""
    assert samples_needed([answers(100, 0.01)], 0.05) == samples_needed([answers(100, 0.05)], 0.05)


def test_no_number_of_samples_finds_a_difference_beyond_the_scale() -> None:
    assert samples_needed([scores(100, 0.1)], 1.5) is None
