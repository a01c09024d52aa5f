"""Calibration and perplexity: examples worked by hand, and properties."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import calibration as cal

CONFIDENCES = [0.95, 0.92, 0.55, 0.52, 0.15]
RIGHT = [1, 0, 1, 0, 0]


def test_calibration_error_worked_by_hand():
    # Guo et al. 2017, equation 3, ten bins: (2·|0.5 − 0.935| + 2·|0.5 − 0.535| + 1·|0 − 0.15|) / 5
    assert cal.expected_calibration_error(CONFIDENCES, RIGHT) == pytest.approx((0.87 + 0.07 + 0.15) / 5)


def test_calibration_error_equals_published_examples():
    # TorchMetrics, documentation of BinaryCalibrationError (n_bins=2, norm="l1"): 0.2900
    binary = cal.expected_calibration_error([0.25, 0.25, 0.55, 0.75, 0.75], [0, 0, 1, 1, 1], bins=2)
    assert binary == pytest.approx(0.29, abs=5e-5)
    # the same, MulticlassCalibrationError (n_bins=3, norm="l1"), top labels of its four rows: 0.2000
    top = cal.expected_calibration_error([0.55, 0.55, 0.60, 0.90], [0, 0, 1, 1], bins=3)
    assert top == pytest.approx(0.2, abs=5e-5)


def test_bins_are_open_below_and_closed_above():
    bins = cal.reliability_bins([0.0, 0.1, 0.2, 1.0], [0, 0, 1, 1], bins=10)
    assert [each.count for each in bins] == [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert (bins[0].low, bins[0].high, bins[2].confidence, bins[2].accuracy) == (0.0, 0.1, None, None)


def test_edges_do_not_suffer_from_rounding():
    # 0.3 and 0.7 are edges; 3/10 in floating point must fall on its own edge
    for bins in (10, 15, 20):
        for i in range(1, bins + 1):
            found = cal.reliability_bins([i / bins], [1], bins=bins)
            assert [each.count for each in found].index(1) == i - 1


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50),
    st.integers(1, 20),
    st.randoms(use_true_random=False),
)
def test_calibration_error_is_bounded_and_ignores_order(pairs, bins, random):
    shuffled = random.sample(pairs, len(pairs))
    there, back = (cal.expected_calibration_error(*zip(*rows, strict=True), bins=bins) for rows in (pairs, shuffled))
    assert 0.0 <= there <= 1.0
    assert there == pytest.approx(back)
    found = cal.reliability_bins(*zip(*pairs, strict=True), bins=bins)
    assert sum(each.count for each in found) == len(pairs)


def test_a_calibrated_model_has_a_small_error_and_an_overconfident_one_does_not():
    random = np.random.default_rng(1)
    stated = random.random(20_000)
    right = random.random(20_000) < stated
    assert cal.expected_calibration_error(stated, right) < 0.02
    assert cal.expected_calibration_error(np.sqrt(stated), right) > 0.1


def test_perplexities_worked_by_hand():
    assert cal.word_perplexity([-6.0, -4.0], [3, 2]) == pytest.approx(math.exp(2.0))
    assert cal.bits_per_byte([-8 * math.log(2)], [4]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: cal.expected_calibration_error([], []), "one outcome per confidence"),
        (lambda: cal.expected_calibration_error([0.5], [1, 0]), "one outcome per confidence"),
        (lambda: cal.expected_calibration_error([1.5], [1]), "between 0 and 1"),
        (lambda: cal.expected_calibration_error([0.5], [0.5]), "0 or 1"),
        (lambda: cal.expected_calibration_error([0.5], [1], bins=0), "at least one bin"),
        (lambda: cal.word_perplexity([], []), "undefined"),
        (lambda: cal.word_perplexity([-math.inf], [1]), "infinity"),
        (lambda: cal.word_perplexity([-1e6], [1]), "too large"),
        (lambda: cal.bits_per_byte([-1.0], [0]), "undefined"),
        (lambda: cal.bits_per_byte([-1.0], [1, 2]), "one size per"),
    ],
)
def test_what_has_no_value_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
