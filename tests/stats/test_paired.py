"""Paired comparison: scipy and statsmodels as oracles, published examples, coverage and false alarms by simulation."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from assay.core.errors import UsageError
from assay.stats.guarded import guarded_interval, spread_of
from assay.stats.intervals import clustered_mean_interval, mean_interval
from assay.stats.paired import cohen_dz, cohen_h, compare, odds_ratio
from assay.stats.paired_evidence import mcnemar_exact, minimum_detectable_effect, paired_share_difference
from assay.stats.permutation import permutation_test

DATA_SETS = 2000


def test_mcnemar_textbook_example():
    # by hand: 1 + 22 + 231 + 1540 + 7315 + 26334 + 74613 ways of at most 6 among 22, twice, of 2^22
    assert mcnemar_exact(6, 16) == 2 * 110_056 / 4_194_304


@pytest.mark.parametrize(
    ("b", "c"),
    [(0, 0), (1, 0), (0, 5), (7, 7), (6, 16), (300, 250), (600, 590), (4000, 4300), (90_000, 90_700), (3, 2000)],
)
def test_mcnemar_equals_statsmodels_and_scipy(b, c):
    ours = mcnemar_exact(b, c)
    assert ours == mcnemar_exact(c, b)
    if b + c:
        assert ours == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue, rel=1e-9, abs=1e-300)
        assert ours == pytest.approx(mcnemar([[1, b], [c, 1]], exact=True).pvalue, rel=1e-9, abs=1e-9)
    else:
        assert ours == 1.0


def test_mcnemar_of_millions_is_quick_and_finite():
    assert 0.0 < mcnemar_exact(5_000_000, 5_004_000) < 1.0
    assert mcnemar_exact(0, 100_000) == 0.0  # 2^-99999 is below the smallest float
    with pytest.raises(ValueError, match="negative"):
        mcnemar_exact(-1, 3)


def permutation_p(differences, **how):
    return permutation_test(differences, **how)[1]


EXACT_CASES = [
    [0.5, -0.2, 0.3],
    [1, 1, 1, -1, 0, 0],
    [0.1, 0.2, -0.3, 0.4, 0.1, 0.1, -0.2],
    [0.31, 0.02, -0.17, 0.44, 0.26, -0.05, 0.11, 0.38],
    [0.0, 0.0, 0.0],
]


@pytest.mark.parametrize("differences", EXACT_CASES)
def test_exact_permutation_equals_scipy(differences):
    assert permutation_p(differences) == pytest.approx(_scipy_exact(differences), abs=1e-9)


@settings(max_examples=25)
@given(st.lists(st.integers(-20, 20).map(lambda i: i / 8), min_size=2, max_size=9))
def test_exact_permutation_equals_scipy_on_any_differences(differences):
    # eighths, so that every sum is exact: scipy takes what rounding leaves of a zero sum for a difference
    assert permutation_p(differences) == pytest.approx(_scipy_exact(differences), abs=1e-9)


def test_differences_that_cancel_up_to_rounding_are_no_evidence():
    assert permutation_p([0.1, 1.4, -1.5]) == 1.0


def test_exact_permutation_of_right_and_wrong_is_mcnemar():
    differences = [1.0] * 9 + [-1.0] * 3 + [0.0] * 100
    assert permutation_p(differences) == pytest.approx(mcnemar_exact(9, 3), abs=1e-12)


def test_monte_carlo_permutation_is_near_the_exact_value():
    differences = [1.0] * 40 + [-1.0] * 25
    assert permutation_p(differences, resamples=50_000) == pytest.approx(mcnemar_exact(40, 25), abs=0.008)
    continuous = np.random.default_rng(1).normal(0.2, 1.0, size=80)
    many = permutation_p(continuous, resamples=20_000)
    assert many == pytest.approx(stats.ttest_1samp(continuous, 0.0).pvalue, abs=0.02)


def test_sign_bits_and_histogram_draw_from_the_same_distribution():
    random = np.random.default_rng(2)
    continuous = np.abs(random.normal(size=6000)) * random.choice([-1, 1], p=[0.485, 0.515], size=6000)
    by_bits = permutation_p(continuous, resamples=3000)
    by_histogram = permutation_p(np.round(continuous, 2), resamples=3000)
    assert by_bits == pytest.approx(by_histogram, abs=0.04)
    assert by_bits == pytest.approx(stats.ttest_1samp(continuous, 0.0).pvalue, abs=0.04)


def test_monte_carlo_p_value_is_never_zero():
    # all hundred one way: Chernoff's bound is the exact 2 / 2**100
    assert permutation_p([1.0] * 100, resamples=999) == pytest.approx(2.0**-99)
    graded = np.random.default_rng(9).uniform(0.1, 1.0, 300)
    assert permutation_p(graded, resamples=999) == pytest.approx(2.0**-299)


def test_chernoff_is_never_below_the_exact_chance():
    """Against every way to flip: with as many equal differences the sum is a binomial number."""
    for flips in (40, 100, 300):
        for positive in range(flips * 3 // 4, flips + 1, 5):
            differences = np.repeat([1.0, -1.0], [positive, flips - positive])
            exact = 2.0 * stats.binom.sf(positive - 1, flips, 0.5)
            found = permutation_p(differences, resamples=99)
            assert exact <= found * (1 + 1e-9)


def test_whole_clusters_flip_together():
    # ten copies of three differences carry the evidence of three
    differences = np.repeat([0.3, 0.5, 0.4], 10)
    assert permutation_p(differences, groups=np.repeat([0, 1, 2], 10)) == pytest.approx(0.25)
    assert permutation_p(differences) < 0.001


def test_effect_sizes():
    # Cohen 1988, table 6.2.2: h between 0.50 and 0.65 is 0.30
    assert round(cohen_h(0.50, 0.65), 2) == 0.30
    assert cohen_dz([1.0, 2.0, 3.0]) == pytest.approx(2.0)
    assert cohen_dz([0.5, 0.5]) is None
    assert cohen_dz([0.5]) is None
    assert odds_ratio(10, 4) == 2.5
    assert odds_ratio(3, 0) is None


def test_minimum_detectable_effect_textbook_example():
    # (1.95996 + 0.84162) · 0.5 / √400
    assert minimum_detectable_effect(0.025) == pytest.approx(0.0700396, abs=1e-6)
    # (2.77645 + 0.94096) · 0.1, t with four degrees of freedom
    assert minimum_detectable_effect(0.1, 4) == pytest.approx(0.371741, abs=1e-6)
    with pytest.raises(ValueError, match="power"):
        minimum_detectable_effect(0.5, 10, power=80)


def test_the_detectable_effect_is_found_as_often_as_the_power_says():
    random = np.random.default_rng(3)
    effect = minimum_detectable_effect(0.1, 99)
    draws = random.normal(effect, 1.0, size=(DATA_SETS, 100))
    assert np.mean([mean_interval(row).low > 0.0 for row in draws]) == pytest.approx(0.8, abs=0.03)


def test_comparison_of_right_and_wrong():
    first = [1] * 70 + [0] * 6 + [1] * 16 + [0] * 8
    second = [1] * 70 + [1] * 6 + [0] * 16 + [0] * 8
    result = compare(first, second)
    assert (result.wins, result.losses, result.ties, result.n) == (6, 16, 78, 100)
    assert (result.first, result.second) == (0.86, 0.76)
    assert result.difference == pytest.approx(-0.10)
    assert result.p_value == mcnemar_exact(6, 16)
    assert result.effect_sizes["odds_ratio"] == pytest.approx(6 / 16)
    assert result.effect_sizes["cohen_h"] == pytest.approx(cohen_h(0.86, 0.76))
    assert result.interval.low < -0.10 < result.interval.high
    assert result.signature == "paired|bonett-price|mcnemar-exact|level=0.95"


def test_comparison_of_graded_scores_and_of_clusters():
    random = np.random.default_rng(4)
    first, second = random.random(60), random.random(60)
    plain = compare(first, second)
    assert plain.interval == guarded_interval(spread_of(second - first), (-1.0, 1.0), 0.95)
    assert plain.signature == "paired|guarded-t|guarded-t|level=0.95"
    groups = np.repeat(np.arange(12), 5)
    clustered = compare(first, second, groups=groups)
    assert clustered.interval == guarded_interval(spread_of(second - first, groups), (-1.0, 1.0), 0.95)
    assert clustered.clusters == 12
    open_ended = compare(10.0 * first, 10.0 * second, groups=groups)
    student = clustered_mean_interval(10.0 * (second - first), groups)
    assert open_ended.test == "skewed-t"
    assert open_ended.interval.low <= student.low
    assert open_ended.interval.high >= student.high


def test_changes_that_are_no_chance_need_not_show_another_mean():
    """Fifty small gains and no loss: a loss of everything in one of fifty samples would undo them."""
    first = 0.5 + np.random.default_rng(5).random(50) / 10
    found = compare(first, first + 0.02)
    assert found.p_value > 0.05
    assert found.interval.low < 0.0
    assert found.p_of_changes < 0.001
    assert compare(first, first + 0.2).p_of_changes is None, "the mean is shown"


def test_identical_runs_differ_by_nothing_and_keep_a_width():
    result = compare([1, 0, 1, 1], [1, 0, 1, 1])
    assert (result.difference, result.p_value, result.wins, result.losses) == (0.0, 1.0, 0, 0)
    assert result.interval.low < 0.0 < result.interval.high
    graded = compare([0.5, 0.2], [0.5, 0.2])
    assert (graded.difference, graded.p_value, graded.interval.low, graded.interval.high) == (0.0, 1.0, -1.0, 1.0)
    many = compare([0.5] * 1000, [0.5] * 1000)
    assert many.interval.high == pytest.approx(3.5 / 1000, abs=0.0003), "a thousand samples cannot exclude 1 in 290"
    seconds = compare([5.0, 2.0], [5.0, 2.0])
    assert (seconds.difference, seconds.p_value, seconds.interval.low) == (0.0, 1.0, None)
    assert "equal" in seconds.interval.reason


@pytest.mark.parametrize(("scale", "widths"), [(1.0, True), (100.0, False)])
def test_differences_that_only_rounding_separates_are_one_number(scale, widths):
    """With a scale the interval has a width, and without one there is none: never `25 to 25`."""
    first = np.random.default_rng(1).random(200) * 0.7 * scale
    second = first + 0.25 * scale
    assert len(set(second - first)) > 1, "or there is no rounding to see through"
    found = compare(first, second)
    assert found.p_value < 0.001
    assert found.effect_sizes == {}
    if widths:
        assert found.interval.low < 0.25 - 0.001 < 0.25 + 0.001 < found.interval.high
    else:
        assert (found.interval.low, found.interval.high) == (None, None)


def test_nothing_to_compare_has_a_reason():
    result = compare([], [])
    assert (result.difference, result.p_value) == (None, None)
    assert result.reason == "no sample was scored in both runs"


def test_scores_that_do_not_line_up_are_refused():
    with pytest.raises(ValueError, match="aligned: 2 in the first, 1 in the second"):
        compare([1, 0], [1])
    with pytest.raises(UsageError, match="level"):
        compare([1, 0], [1, 0], level=95)
    with pytest.raises(ValueError, match="wins"):
        paired_share_difference(3, 3, 5)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60), st.floats(0.05, 0.99))
def test_swapping_the_runs_mirrors_the_comparison(pairs, level):
    first, second = np.array(pairs, dtype=float).T
    there, back = compare(first, second, level=level), compare(second, first, level=level)
    assert there.difference == pytest.approx(-back.difference)
    assert there.p_value == back.p_value
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.interval.low == pytest.approx(-back.interval.high)
    assert there.interval.low <= there.difference <= there.interval.high


@pytest.mark.parametrize(("gain", "loss", "n"), [(0.10, 0.10, 60), (0.20, 0.05, 40), (0.04, 0.02, 300)])
def test_difference_of_paired_shares_covers_as_often_as_it_says(gain, loss, n):
    draws = np.random.default_rng(6).multinomial(n, [gain, loss, 1 - gain - loss], size=DATA_SETS)
    intervals = [paired_share_difference(int(w), int(lost), n) for w, lost, _ in draws]
    # conservative where discordant pairs are rare: the added pseudo-counts widen it
    assert 0.93 <= np.mean([i.low <= gain - loss <= i.high for i in intervals]) <= 0.98


def test_clustered_difference_covers_where_the_naive_one_fails():
    random = np.random.default_rng(7)
    groups = np.repeat(np.arange(25), 8)
    shared = random.normal(0.1, 1.0, size=(DATA_SETS, 25)).repeat(8, axis=1)
    draws = shared + random.normal(size=shared.shape)
    robust = [clustered_mean_interval(row, groups) for row in draws]
    naive = [mean_interval(row) for row in draws]
    assert 0.93 <= np.mean([i.low <= 0.1 <= i.high for i in robust]) <= 0.97
    assert np.mean([i.low <= 0.1 <= i.high for i in naive]) < 0.75


def test_tests_raise_no_more_false_alarms_than_they_say():
    random = np.random.default_rng(8)
    discordant = random.binomial(40, 0.5, size=DATA_SETS)
    assert np.mean([mcnemar_exact(int(b), 40 - int(b)) <= 0.05 for b in discordant]) <= 0.05
    skewed = random.choice([-1, 1], size=(DATA_SETS, 12)) * random.gamma(1.0, size=(DATA_SETS, 12))
    alarms = np.mean([permutation_p(row) <= 0.05 for row in skewed])
    assert 0.035 <= alarms <= 0.06


def test_memory_is_bounded_for_many_pairs():
    random = np.random.default_rng(9)
    differences = random.normal(size=300_000)
    tracemalloc.start()
    try:
        permutation_p(differences, resamples=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 80 * 2**20


def _scipy_exact(differences):
    return stats.permutation_test(
        (np.asarray(differences, dtype=float),),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    ).pvalue


def test_every_table_of_wins_and_losses_has_an_interval_that_agrees_with_its_test():
    for n in (5, 6, 9, 20, 30):
        for wins in range(n // 2 + 1):
            for losses in range(wins, n - wins + 1):
                first = [0] * wins + [1] * (n - wins)
                second = [1] * wins + [0] * losses + [1] * (n - wins - losses)
                found = compare(first, second)
                excludes_zero = found.interval.low > 0.0 or found.interval.high < 0.0
                assert excludes_zero == (found.p_value < 0.05), (wins, losses, n)


@pytest.mark.parametrize("spread", [0.03, 0.1])
def test_pairs_to_find_a_graded_difference_are_those_that_then_detect_it(spread: float) -> None:
    """The root of n alone would ask for too many: the loss that the test reckons with weighs less among more pairs."""
    noise = np.random.default_rng(9).normal(0.0, spread, 60)
    before = np.full(60, 0.5)
    result = compare(before, before + (noise - noise.mean()) + 0.01)
    evidence = result.evidence
    assert evidence is not None
    needed = evidence.needed(0.01, 0.95, 0.8)
    more = np.tile(noise - noise.mean(), -(-needed // 60))[:needed]
    larger = compare(np.full(needed, 0.5), 0.5 + more + 0.01)
    assert larger.minimum_detectable_effect == pytest.approx(0.01, rel=0.02)
