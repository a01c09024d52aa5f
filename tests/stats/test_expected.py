"""What earlier runs say of two models, found again where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.expected import EarlierScores, group_size, intraclass_correlation, of_one_run, of_two_runs


def scores(values: np.ndarray) -> EarlierScores:
    """Samples by attempts, each sample on its own."""
    rows = np.repeat(np.arange(len(values)), values.shape[1])
    return EarlierScores(samples=rows, values=values.ravel().astype(float), groups=rows)


def test_two_runs_of_right_and_wrong_answers_disagree_as_often_as_they_do() -> None:
    first, second = np.ones((100, 1)), np.ones((100, 1))
    second[:10], first[10:14] = 0.0, 0.0
    prospect = of_two_runs(scores(first), scores(second), 500, share=True)
    assert prospect.expected.variance == pytest.approx(0.14)
    assert (prospect.expected.samples, prospect.expected.right_wrong, prospect.at_most) == (500, True, False)


def test_the_disagreement_of_single_attempts_is_found_from_several() -> None:
    """The means of four attempts differ less than two attempts do, and repeats must not hide that."""
    random = np.random.default_rng(1)
    chance = random.beta(2.0, 2.0, 4000)
    first, second = (random.binomial(1, chance[:, None], (4000, 4)) for _ in "ab")
    prospect = of_two_runs(scores(first), scores(second), 100, share=True)
    truth = 2.0 * float((chance * (1.0 - chance)).mean())
    assert prospect.expected.variance == pytest.approx(truth, rel=0.03)
    assert prospect.expected.noise == pytest.approx(truth, rel=0.03)
    assert prospect.noise_known


def test_one_run_says_at_most_how_much_two_models_differ() -> None:
    random = np.random.default_rng(2)
    prospect = of_one_run(scores(random.binomial(1, 0.7, (2000, 1))), 100, share=True)
    assert prospect.expected.variance == pytest.approx(0.42, abs=0.02)
    assert prospect.at_most
    assert not prospect.noise_known


def test_graded_scores_are_no_right_and_wrong_answers() -> None:
    random = np.random.default_rng(3)
    prospect = of_one_run(scores(random.uniform(0.0, 1.0, (500, 1))), 100, share=True)
    assert not prospect.expected.right_wrong
    assert prospect.expected.variance == pytest.approx(2.0 / 12.0, rel=0.1)
    assert of_one_run(scores(random.uniform(0.0, 9.0, (500, 1))), 100, share=False).expected.largest_difference is None


@pytest.mark.parametrize(("own", "icc"), [(0.0, 1.0), (1.0, 0.5), (3.0, 0.1)])
def test_how_alike_groups_are_is_found_again(own: float, icc: float) -> None:
    random = np.random.default_rng(4)
    groups = np.repeat(np.arange(800), 5)
    values = random.normal(0.0, 1.0, 800)[groups] + random.normal(0.0, 1.0, 4000) * own
    assert intraclass_correlation(values, groups) == pytest.approx(icc, abs=0.04)


def test_samples_on_their_own_have_no_groups() -> None:
    alone = np.arange(20)
    assert intraclass_correlation(np.random.default_rng(5).random(20), alone) == 0.0
    assert group_size(alone, alone) == 1.0
    assert group_size(np.repeat(np.arange(4), 5), alone) == 5.0
