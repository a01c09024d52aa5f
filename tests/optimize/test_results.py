"""A verdict is only given where nothing was selected, and noise does not get one."""

from __future__ import annotations

import pytest
from bench.optimize_noise import NOISE, best_of_a_flaky_evaluator, says_better_on_noise

from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.results import comparison, overall_verdict
from assay.optimize.sets import make_sets
from assay.results.search_rows import Comparison


def compared(
    seed: list[float | None], best: list[float | None], *, selected_on: bool = False, equal: bool = False
) -> Comparison:
    records = [{"n": 0 if equal else number} for number in range(len(seed))]
    examples = make_sets(records, None, None, holdout=0.0, random_seed=0).dataset
    sides = [[ScoreOrFailure(score=score, side_info={}) for score in side] for side in (seed, best)]
    return comparison(examples, *sides, selected_on=selected_on)


@pytest.mark.parametrize("mode", NOISE)
def test_pure_noise_is_not_called_better(mode: str) -> None:
    """Before anything was held out it was every fourth search; `bench/optimize_noise.py` makes 200 of each."""
    searches = 10 if mode != "one text" else 3
    assert sum(says_better_on_noise(mode, number, binary=False, budget=50) for number in range(searches)) <= 1


def test_a_flaky_evaluator_does_not_make_a_worse_text_win() -> None:
    for number in range(8):
        best, most = best_of_a_flaky_evaluator(number, budget=80)
        assert best == most


def test_on_selected_data_there_is_no_interval() -> None:
    found = compared([0.0] * 30, [1.0] * 30, selected_on=True)
    assert (found.low, found.high, found.p_value, found.is_better) == (None, None, None, None)
    assert found.verdict == "changed by +1; selected on, so biased upwards"


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_difference_that_is_the_same_everywhere_is_no_lack_of_examples(scale: float) -> None:
    found = compared([0.25 * scale] * 200, [0.5 * scale] * 200)
    assert found.is_better is True
    assert found.verdict.startswith(f"better by {0.25 * scale:.4g}, ")
    if scale == 1.0:
        assert found.low is not None
        assert found.high is not None
        assert 0.2 < found.low < 0.25 < found.high < 0.3
    else:  # without ends of the scale nothing says how far others may be
        assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_a_few_examples_that_all_rise_alike_are_not_enough(scale: float) -> None:
    found = compared([0.25 * scale] * 4, [0.5 * scale] * 4)
    assert found.is_better is False
    assert found.verdict.startswith(f"no evidence of improvement: changed by +{0.25 * scale:.4g}, ")


@pytest.mark.parametrize(
    ("seed", "best", "word", "better"),
    [
        ([0.0] * 12, [1.0] * 12, "better by 1, 95 % CI", True),
        ([1.0] * 12, [0.0] * 12, "worse by 1, 95 % CI", False),
        ([0.0, 1.0] * 6, [1.0, 0.0] * 6, "no evidence of improvement: changed by +0", False),
        ([0.5] * 12, [0.5] * 12, "no evidence of improvement: no score changed", False),
        ([None] * 3, [1.0] * 3, "nothing to compare", None),
    ],
)
def test_the_verdict_says_what_the_test_finds(
    seed: list[float | None], best: list[float | None], word: str, better: bool | None
) -> None:
    found = compared(seed, best)
    assert found.verdict.startswith(word)
    assert found.is_better is better


def test_failures_are_excluded_from_the_mean_and_the_pairs() -> None:
    found = compared([0.0, None, 0.5], [1.0, 1.0, None])
    assert (found.pairs, found.difference) == (1, 1.0)
    assert (found.seed.mean, found.seed.failed, found.best.mean) == (0.25, 1, 1.0)


def test_the_same_record_many_times_is_not_many_examples() -> None:
    assert compared([0.0] * 20, [1.0] * 20, equal=True).is_better is not True


@pytest.mark.parametrize(
    ("testset", "unscored"),
    [(None, "held-out records were"), ([{"n": 99}], "testset was")],
    ids=["held out", "testset"],
)
def test_a_search_that_ended_early_names_the_data_that_was_not_scored(
    testset: list[dict[str, int]] | None, unscored: str
) -> None:
    sets = make_sets([{"n": n} for n in range(30)], None, testset, holdout=0.3, random_seed=0)
    on_selected = comparison([], [], [], selected_on=True)
    assert overall_verdict(sets, on_selected, None) == f"none: the search ended before the {unscored} scored"
