"""The comparisons of one report, corrected together: statsmodels and a published example as oracles."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from assay.stats.families import correct, correct_known, holm, holm_levels

P_VALUES_OF_1995 = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip


def test_the_correction_reproduces_the_example_of_1995():
    # Benjamini & Hochberg 1995, section 3.2: fifteen hypotheses, of which 3 survive Bonferroni–Holm
    assert sum(p <= 0.05 for p in holm(P_VALUES_OF_1995)) == 3


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_the_correction_equals_statsmodels(size):
    # rounding makes ties
    p_values = np.round(np.random.default_rng(size).random(size) ** 3, 2)
    assert np.allclose(holm(p_values), multipletests(p_values, method="holm")[1], rtol=0, atol=1e-9)


def test_the_correction_of_nothing_and_of_nonsense():
    assert holm([]) == []
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            holm([0.5, bad])


@pytest.mark.parametrize("p_values", [[0.001, 0.03, 0.04], [0.02, 0.02, 0.9], [0.2], [0.01, 0.015, 0.03, 0.6]])
def test_of_several_comparisons_each_interval_is_at_the_level_that_the_correction_leaves(p_values):
    adjusted, levels = holm(p_values), holm_levels(p_values, 0.95)
    for p, corrected_p, level in zip(p_values, adjusted, levels, strict=True):
        assert (p < 1.0 - level) == (corrected_p < 0.05)
        assert level >= 0.95 - 1e-12


def test_a_comparison_without_a_p_value_is_none():
    first, missing, second = correct_known([0.03, None, 0.2], 0.95)
    assert missing is None
    assert (first.comparisons, second.comparisons) == (2, 2)
    assert (first.adjusted_p, first.significant) == (pytest.approx(0.06), False)


def test_what_is_significant_is_below_the_level_and_not_at_it():
    [corrected] = correct([0.25], 0.75)
    assert not corrected.significant
