"""A plan: what a guess means, what an earlier run says, and the arithmetic of `diff`."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.results.board.scripted_boards import write_run
from tests.results.scored_runs import Scores, write_scored

from assay.core.errors import UsageError
from assay.costs.estimate import RoundCost
from assay.results.diff.comparison import diff
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.sample_plan import (
    Guess,
    PlanTask,
    SamplePlan,
    check_guess,
    comparisons_of,
    parse_guess,
    plan_samples,
    prospect_of_guess,
    prospect_of_runs,
)
from assay.stats.expected import Prospect

QUIZ = PlanTask(task="quiz", samples=100, group=1.0)
FREE = RoundCost(requests=100.0, tokens=1000.0, amount=0.5)


def plan_of(
    prospect: Prospect, *, task: PlanTask = QUIZ, detect: float = 0.1, repeats: tuple[int, ...] = (1,), pairs: int = 1
) -> SamplePlan:
    return plan_samples(
        [(task, prospect)], detect=detect, pairs=pairs, repeats=repeats, level=0.95, costs=[FREE], expects=[]
    )


def test_the_smallest_difference_is_the_one_that_diff_calls_detectable(tmp_path: Path) -> None:
    """Ten wins and ten losses among 100: on top of that disagreement, diff and plan say the same."""
    before = [[1.0]] * 10 + [[0.0]] * 10 + [[1.0]] * 80
    after = [[0.0]] * 10 + [[1.0]] * 10 + [[1.0]] * 80
    runs = [write_run(tmp_path / name, {"quiz": values}) for name, values in (("a", before), ("b", after))]
    compared = diff(*runs).tasks[0].comparison
    assert compared is not None
    plan = plan_of(prospect_of_runs([read_side(run, View()) for run in runs], QUIZ))
    assert plan.rows[0].smallest_on_top == pytest.approx(compared.minimum_detectable_effect, abs=1e-6)


def test_needed_samples_and_their_requests_tokens_and_money_grow_together() -> None:
    row = plan_of(prospect_of_guess(Guess(score=0.7, disagree=0.2), QUIZ)).rows[0]
    assert row.needed is not None
    assert row.requests == row.needed
    assert row.tokens == 10 * row.needed
    assert row.cost == pytest.approx(row.needed * 0.005)


def test_a_score_alone_says_at_most() -> None:
    guess, alone = Guess(score=0.7, disagree=0.15), Guess(score=0.7)
    known, unknown = (plan_of(prospect_of_guess(each, QUIZ)) for each in (guess, alone))
    assert (known.at_most, unknown.at_most) == (False, True)
    assert (unknown.rows[0].needed or 0) > (known.rows[0].needed or 0)


def test_every_pair_of_models_is_a_comparison() -> None:
    assert [comparisons_of(models) for models in (0, 1, 2, 3, 5)] == [1, 1, 1, 3, 10]
    prospect = prospect_of_guess(Guess(score=0.7, disagree=0.2), QUIZ)
    two, five = (plan_of(prospect, pairs=pairs) for pairs in (1, 10))
    assert (two.comparisons, five.comparisons) == (1, 10)
    assert (five.rows[0].needed or 0) > (two.rows[0].needed or 0)


def test_more_attempts_reduce_what_differs_between_them_and_samples_reduce_more() -> None:
    steady, shaky = Guess(score=0.7, disagree=0.2, flip_rate=0.0), Guess(score=0.7, disagree=0.2, flip_rate=0.2)
    for guess, helps in ((steady, False), (shaky, True)):
        once, often = plan_of(prospect_of_guess(guess, QUIZ), repeats=(2, 8)).rows
        assert (often.power > once.power + 0.01) is helps
    [found, _] = plan_of(prospect_of_guess(shaky, QUIZ), repeats=(4,)).advice
    assert "400 samples with one attempt each" in found


def test_without_a_flip_rate_nothing_is_said_of_attempts() -> None:
    [advice] = plan_of(prospect_of_guess(Guess(score=0.7, disagree=0.2), QUIZ)).advice
    assert advice.startswith("whether more attempts help is not known")


def test_power_rises_with_the_samples_and_reaches_what_is_asked_for() -> None:
    row = plan_of(prospect_of_guess(Guess(score=0.7, sd=0.2), QUIZ), detect=0.05).rows[0]
    powers = [point.power for point in row.curve]
    assert all(after >= before - 1e-3 for before, after in pairwise(powers))
    assert powers[0] < 0.2 < 0.8 < powers[-1]


def test_a_plan_knows_what_a_task_declares_as_its_largest_loss() -> None:
    """A fourth of the scale: then a fourth of the gains outweighs a loss that was not seen."""
    guess, declared = Guess(score=0.7, sd=0.05), replace(QUIZ, largest_loss=0.25)
    [plain], [known] = (
        plan_of(prospect_of_guess(guess, task), task=task, detect=0.02).rows for task in (QUIZ, declared)
    )
    assert (known.needed or 0) < 0.6 * (plain.needed or 0)
    assert (known.margin or 1.0) < 0.3 * (plain.margin or 0.0)
    with pytest.raises(UsageError, match=r"--detect must be less than 0\.25, got 0\.3"):
        plan_of(prospect_of_guess(guess, declared), task=declared, detect=0.3)


def test_the_margin_at_hand_is_the_one_that_check_names() -> None:
    """Sixty samples: below about 0.06."""
    [row] = plan_of(prospect_of_guess(Guess(score=0.7, sd=0.1), QUIZ), task=replace(QUIZ, samples=60)).rows
    assert row.margin == pytest.approx(0.06, abs=0.002)


def test_a_task_that_weighs_more_decides_how_many_samples_all_together_take() -> None:
    noisy, quiet = (prospect_of_guess(Guess(score=0.7, disagree=share), QUIZ) for share in (0.4, 0.1))

    def needed(*weights: float) -> int:
        tasks = [replace(QUIZ, task=name, weight=weight) for name, weight in zip("ab", weights, strict=True)]
        plan = plan_samples(
            list(zip(tasks, (noisy, quiet), strict=True)),
            detect=0.05,
            pairs=1,
            repeats=(1,),
            level=0.95,
            costs=[FREE, FREE],
            expects=[],
        )
        return plan.rows[-1].needed or 0

    assert needed(5.0, 1.0) > 1.5 * needed(1.0, 1.0)
    assert needed(7.0, 7.0) == needed(1.0, 1.0)


def test_seconds_have_no_part_in_all_tasks_together_and_any_difference(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    names = ("x", "y", "s")
    runs = [
        write_scored(
            tmp_path / name,
            {
                **{task: Scores((random.random(60) < 0.5).astype(float)) for task in "xy"},
                "s": Scores(random.exponential(20.0, 60), bounds=None),
            },
        )
        for name in "ab"
    ]
    sides = [read_side(run, View()) for run in runs]
    tasks = [PlanTask(task=name, samples=60, group=1.0) for name in names]
    known = [(task, prospect_of_runs(sides, task)) for task in tasks]
    settings = {"pairs": 1, "repeats": (1,), "level": 0.95, "expects": []}
    plan = plan_samples(known, detect=0.1, costs=[FREE] * 3, **settings)
    assert [(row.task, row.samples) for row in plan.rows] == [("x", 60), ("y", 60), ("s", 60), ("overall", 120)]
    alone = plan_samples(known[2:], detect=5.0, costs=[FREE], **settings)
    assert (alone.rows[0].needed or 0) > 100
    assert plan.comparisons == len(diff(*runs).tasks) + 1


def test_runs_that_never_differ_say_nothing_about_other_models(tmp_path: Path) -> None:
    side = read_side(write_run(tmp_path / "a", {"quiz": [[1.0]] * 20}), View())
    with pytest.raises(UsageError, match="nothing differs in task `quiz`"):
        prospect_of_runs([side], QUIZ)
    with pytest.raises(UsageError, match="has no scores of task `other`; it has `quiz`"):
        prospect_of_runs([side], PlanTask(task="other", samples=10, group=1.0))


def test_a_guess_is_read_with_its_names() -> None:
    assert parse_guess("0.7, disagree=0.15,flip_rate=0.1") == Guess(score=0.7, disagree=0.15, flip_rate=0.1)
    assert parse_guess("0.8,sd=0.2") == Guess(score=0.8, sd=0.2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("70", "the score must be a number from 0 to 1, got 70"),
        ("good", "the score must be a number from 0 to 1, got 'good'"),
        ("0.7,disagre=0.1", "expected disagree=SHARE, flip_rate=SHARE or sd=NUMBER, got 'disagre=0.1'"),
        ("0.7,disagree=0", "disagree must be more than 0"),
        ("0.7,sd=0.1,disagree=0.1", "sd is for graded scores"),
        ("0.7,disagree=0.1,flip_rate=0.2", "at least as often as two attempts of one model"),
        ("0.7,disagree=0.1,disagree=0.2", "disagree is given twice"),
        ("0.9,flip_rate=0.3", "two attempts of a model that scores 0.9 differ on 18 % of the samples at most"),
    ],
)
def test_a_guess_that_cannot_be_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        parse_guess(text)


@pytest.mark.parametrize(
    ("text", "detect", "problem"),
    [
        ("0.7,disagree=0.15", 0.3, "two models that differ by 0.3 disagree at least that often"),
        ("0.99,disagree=0.5", 0.05, "disagree on 7 % of the samples at most"),
        ("0.7,sd=0.9", 0.02, "the differences of such scores have an sd of 0.787 at most"),
        ("0.7", 0.9, "no score is 0.9 above or below 0.7"),
    ],
)
def test_a_disagreement_that_the_score_and_the_difference_rule_out_is_refused(
    text: str, detect: float, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        check_guess(parse_guess(text), detect, text)
    check_guess(parse_guess("0.7,disagree=0.15"), 0.05, "0.7,disagree=0.15")
