"""Bootstrap intervals: agreement with closed forms and scipy, coverage, bounded memory, and order invariance."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.core.errors import UsageError
from assay.stats import bootstrap
from assay.stats.bootstrap import bootstrap_sums, expanded_tails
from assay.stats.intervals import clustered_mean_interval, mean_interval

DATA_SETS = 2000


def bootstrap_mean(values, **how):
    rows = np.column_stack([np.asarray(values, dtype=float), np.ones(len(values))])
    return bootstrap_sums(rows, lambda sums: sums[:, 0] / sums[:, 1], **how)


def f1(sums):
    return 2 * sums[:, 0] / (2 * sums[:, 0] + sums[:, 1] + sums[:, 2])


def test_error_of_five_hundred_coin_flips_is_the_true_error():
    # the check that an error shrunk by the square root of the number of resamples would fail: 0.00065, not 0.0207
    values = np.zeros(500)
    values[:350] = 1.0
    assert bootstrap_mean(values).standard_error == pytest.approx(np.sqrt(0.7 * 0.3 / 500), rel=0.05)


SHAPES = {
    "right and wrong": lambda random, n: (random.random(n) < 0.7).astype(float),
    "few distinct values": lambda random, n: random.integers(0, 5, n) / 4,
    "continuous": lambda random, n: random.beta(0.5, 0.5, n),
    "heavy tail": lambda random, n: random.lognormal(0.0, 1.5, n),
}


@pytest.mark.parametrize("n", [300, 50_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_mean_agrees_with_the_closed_form(shape, n):
    values = SHAPES[shape](np.random.default_rng(3), n)
    drawn = bootstrap_mean(values, resamples=1500).standard_error
    assert drawn == pytest.approx(mean_interval(values).standard_error, rel=0.05)


@pytest.mark.parametrize("clusters", [100, 30_000])
def test_clustered_mean_agrees_with_the_closed_form(clusters):
    random = np.random.default_rng(4)
    groups = random.integers(0, clusters, size=clusters * 4)
    values = random.random(groups.size) + random.random(clusters)[groups]
    drawn = bootstrap_mean(values, groups=groups, resamples=1000).standard_error
    assert drawn == pytest.approx(clustered_mean_interval(values, groups).standard_error, rel=0.08)


def test_interval_agrees_with_scipy_between_the_percentiles_it_takes():
    values = np.random.default_rng(6).lognormal(size=60)
    ours = bootstrap_mean(values, resamples=20_000)
    low, high = expanded_tails(0.95, len(values))
    theirs = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        confidence_level=high - low,
        rng=np.random.default_rng(0),
        batch=2000,
    ).confidence_interval
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=0.03)


def test_three_ways_to_resample_sums_agree(monkeypatch):
    random = np.random.default_rng(8)
    rows = np.column_stack([random.poisson(3, 6000), random.poisson(1, 6000), random.random(6000)])
    multinomial = bootstrap_sums(rows, f1, resamples=800).standard_error
    indexed = f1(np.array([rows[random.integers(0, 6000, 6000)].sum(axis=0) for _ in range(800)])).std(ddof=1)
    monkeypatch.setattr(bootstrap, "_EXACT_ROWS", 0)
    poisson = bootstrap_sums(rows, f1, resamples=800).standard_error
    assert indexed == pytest.approx(multinomial, rel=0.1)
    assert poisson == pytest.approx(multinomial, rel=0.1)


def test_poisson_weights_have_mean_and_variance_one():
    table = bootstrap._poisson_table()
    assert table.mean() == pytest.approx(1.0, abs=1e-4)
    assert table.var() == pytest.approx(1.0, abs=1e-3)


def test_same_seed_same_interval_and_another_seed_another():
    values = np.random.default_rng(9).random(50)
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1).low != bootstrap_mean(values, seed=2).low


def test_the_signature_names_resamples_and_seed():
    signature = bootstrap_mean([0.1, 0.5, 0.9], resamples=200, seed=7, level=0.9).signature("f1_score")
    assert signature == "f1_score|bootstrap|n=200|seed=7|level=0.9"


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        (bootstrap_mean([]), "nothing was scored"),
        (bootstrap_mean([1.0]), "one sample"),
        (bootstrap_mean([0.5] * 9), "every resample gives the same value"),
        (bootstrap_sums([[1, 0, 0]] * 9, f1), "every resample gives the same value"),
        (bootstrap_sums([[1, 2, 3]] * 9, f1, groups=[4] * 9), "one sample"),
    ],
)
def test_no_interval_where_resampling_shows_no_spread(interval, reason):
    assert interval.low is None
    assert reason in interval.reason


def test_a_statistic_often_undefined_has_no_interval():
    rows = np.zeros((20, 3))
    rows[0, 0] = 1.0
    with np.errstate(invalid="ignore"):
        interval = bootstrap_sums(rows, f1)
    assert interval.low is None
    assert "undefined in" in interval.reason


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="at least 2 resamples"):
        bootstrap_mean([1, 2], resamples=1)
    with pytest.raises(ValueError, match="one row of counts"):
        bootstrap_sums([1, 2, 3], f1)
    with pytest.raises(UsageError, match="level"):
        bootstrap_mean([1, 2, 3], level=95)


@settings(max_examples=40)
@given(st.lists(st.floats(-10, 10, width=16), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_order_of_samples_does_not_matter_and_a_higher_level_is_wider(values, random):
    shuffled = random.sample(values, len(values))
    wide, moved = bootstrap_mean(values, resamples=100), bootstrap_mean(shuffled, resamples=100)
    assert wide == moved
    narrow = bootstrap_mean(values, resamples=100, level=0.5)
    if wide.low is not None:
        assert wide.low <= narrow.low <= narrow.high <= wide.high


COVERAGE = {
    "mean of right and wrong": lambda random: ((random.random(150) < 0.6).astype(float), 0.6, None),
    "mean, skewed": lambda random: (random.gamma(4.0, 0.25, size=60), 1.0, None),
    "mean of clusters": lambda random: (
        random.normal(size=(50, 1)).repeat(4, axis=1).reshape(-1) + random.normal(size=200),
        0.0,
        np.repeat(np.arange(50), 4),
    ),
}


@pytest.mark.parametrize("case", COVERAGE)
def test_bootstrap_covers_the_truth_as_often_as_it_says(case):
    random = np.random.default_rng(21)
    covered = 0
    for seed in range(DATA_SETS):
        values, truth, groups = COVERAGE[case](random)
        interval = bootstrap_mean(values, groups=groups, resamples=200, seed=seed)
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / DATA_SETS <= 0.97


def test_bootstrap_of_f1_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(22)
    truth = 2 * 0.5 / (2 * 0.5 + 0.2 + 0.3)
    covered = 0
    for seed in range(DATA_SETS):
        cells = random.choice(3, p=[0.5, 0.2, 0.3], size=150)
        interval = bootstrap_sums(np.eye(3)[cells], f1, resamples=200, seed=seed)
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / DATA_SETS <= 0.97


def test_memory_is_bounded_at_a_million_samples():
    random = np.random.default_rng(23)
    values = random.random(1_000_000)
    tracemalloc.start()
    try:
        bootstrap_mean(values, resamples=200)
        bootstrap_sums(np.column_stack([values] * 3), f1, resamples=20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 * 2**20
