"""Agreement: a textbook kappa, statsmodels as oracle, and coverage by simulation."""

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from assay.stats.agreement import agreement
from assay.stats.intervals import wilson


def spread(cells):
    """A confusion matrix as two lists of labels."""
    pairs = [(i, j) for i, row in enumerate(cells) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in pairs], [j for _, j in pairs]


def test_kappa_worked_by_hand():
    # 20 both yes, 5 and 10 split, 15 both no: observed 0.7, by chance 0.5·0.6 + 0.5·0.4 = 0.5, kappa 0.4
    result = agreement(*spread([[20, 5], [10, 15]]))
    assert (result.raw, result.kappa, result.n) == (0.7, pytest.approx(0.4), 50)
    assert result.raw_interval == wilson(35, 50)
    assert result.kappa_interval.low < 0.4 < result.kappa_interval.high


CELLS = [[22, 4, 1], [6, 30, 5], [2, 3, 11]]


@pytest.mark.parametrize(("weights", "theirs"), [("none", None), ("linear", "linear"), ("quadratic", "quadratic")])
def test_kappa_equals_statsmodels(weights, theirs):
    expected = cohens_kappa(np.array(CELLS), wt=theirs)
    result = agreement(*spread(CELLS), weights=weights, resamples=4000)
    assert result.kappa == pytest.approx(expected.kappa, abs=1e-9)
    assert result.kappa_interval.standard_error == pytest.approx(expected.std_kappa, rel=0.1)


def test_labels_may_be_texts_and_the_order_is_the_readers():
    first, second = ["low", "high", "mid", "low"], ["low", "mid", "mid", "high"]
    result = agreement(first, second, weights="linear", order=["low", "mid", "high"])
    numbers = agreement([0, 2, 1, 0], [0, 1, 1, 2], weights="linear")
    assert result.kappa == pytest.approx(numbers.kappa)
    assert result.labels == ["low", "mid", "high"]
    with pytest.raises(ValueError, match="need the `order`"):
        agreement(first, second, weights="quadratic")
    with pytest.raises(ValueError, match="lacks `mid`"):
        agreement(first, second, order=["low", "high"])


def test_kappa_is_absent_with_a_reason_when_chance_explains_everything():
    same = agreement(["yes"] * 9, ["yes"] * 9)
    assert (same.raw, same.kappa, same.reason) == (1.0, None, "both raters gave every sample the same label")
    nothing = agreement([], [])
    assert (nothing.raw, nothing.kappa, nothing.reason) == (None, None, "nothing was rated by both")
    with pytest.raises(ValueError, match="same samples"):
        agreement(["yes"], [])


def test_copies_of_samples_do_not_narrow_a_clustered_interval():
    first, second = spread([[20, 5], [10, 15]])
    once = agreement(first, second).kappa_interval
    copied = agreement(first * 6, second * 6, groups=list(range(50)) * 6).kappa_interval
    naive = agreement(first * 6, second * 6).kappa_interval
    assert copied.standard_error == pytest.approx(once.standard_error, rel=0.1)
    assert naive.standard_error < 0.6 * once.standard_error


def test_kappa_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(2)
    shares = np.array([0.4, 0.1, 0.2, 0.3])
    covered = 0
    for seed, counts in enumerate(random.multinomial(120, shares, size=2000)):
        interval = agreement(*spread(counts.reshape(2, 2).tolist()), resamples=200, seed=seed).kappa_interval
        covered += interval.low <= 0.4 <= interval.high
    assert 0.93 <= covered / 2000 <= 0.97
