"""The comparisons of one report, corrected together: statsmodels and a published example as oracles."""

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from assay.stats.families import correct, correct_known, false_discovery, holm, holm_levels

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


@pytest.mark.parametrize("size", [1, 2, 7, 20])
@pytest.mark.parametrize(("correction", "method"), [("bh", "fdr_bh"), ("by", "fdr_by")])
def test_false_discoveries_are_counted_as_statsmodels_counts_them(size, correction, method):
    p_values = np.round(np.random.default_rng(size).random(size) ** 3, 2)
    adjusted = [each.adjusted_p for each in correct(p_values, 0.95, correction)]
    assert np.allclose(adjusted, multipletests(p_values, method=method)[1], rtol=0, atol=1e-9)


def test_false_discovery_reproduces_the_example_of_1995():
    # Benjamini & Hochberg 1995, section 3.2: four of the fifteen
    assert sum(p <= 0.05 for p in false_discovery(P_VALUES_OF_1995)) == 4


@pytest.mark.parametrize("correction", ["holm", "bh", "by"])
@pytest.mark.parametrize("seed", range(5))
def test_an_interval_excludes_0_where_the_corrected_test_is_significant(correction, seed):
    p_values = np.random.default_rng(seed).random(12) ** 4
    for each in correct(p_values, 0.95, correction):
        assert (each.p_value < 1.0 - each.level) == each.significant


def test_nothing_to_correct():
    assert correct([], 0.95) == correct([], 0.95, "bh") == []


@pytest.mark.parametrize(("effect", "least"), [(0.0, 0.945), (2.5, 0.945), (4.0, 0.91), (6.0, 0.94)])
def test_the_intervals_of_holm_hold_together(effect, least):
    """Twenty true effects of so many standard errors: at the levels of Holm's own steps 0.59 of reports."""
    random = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        seen = random.normal(effect, 1.0, 20)
        family = correct(2.0 * norm.sf(np.abs(seen)), 0.95)
        held += all(abs(z - effect) <= norm.isf((1.0 - each.level) / 2.0) for z, each in zip(seen, family, strict=True))
    assert held / 400 >= least - 0.03


@pytest.mark.parametrize("correction", ["bh", "by"])
def test_of_the_differences_found_at_most_the_level_is_false_and_as_many_intervals_hold(correction):
    """Twenty tasks, five of which differ by three standard errors; the tasks share a part of their noise."""
    random = np.random.default_rng(0)
    truth = np.array([3.0] * 5 + [0.0] * 15)
    false, missed = [], []
    for _ in range(400):
        seen = truth + 0.6 * random.normal() + 0.8 * random.normal(size=20)
        family = correct(2.0 * norm.sf(np.abs(seen)), 0.95, correction)
        found = [(t, z, each) for t, z, each in zip(truth, seen, family, strict=True) if each.significant]
        false.append(sum(t == 0.0 for t, *_ in found) / max(1, len(found)))
        missed.append(sum(abs(z - t) > norm.isf((1.0 - each.level) / 2.0) for t, z, each in found) / max(1, len(found)))
    assert np.mean(false) <= 0.05
    assert np.mean(missed) <= 0.05
