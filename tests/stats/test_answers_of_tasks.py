"""The mean difference of tasks of right/wrong answers: exact where few differ, one rule for interval and test."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.answers_of_tasks import AnswersOfTasks, evidence_of_tasks
from assay.stats.guarded import spread_of
from assay.stats.jackknife import compare_sums
from assay.stats.paired_evidence import AnswerPairs, GuardedPairs, JackknifePairs
from assay.task_records import RatioOfSums


def test_a_few_differing_answers_are_flipped_in_every_way() -> None:
    tasks = AnswersOfTasks((AnswerPairs(0, 2, 10, right=8), AnswerPairs(0, 1, 20, right=12)))
    assert min(tasks.p_values()) * 2 == pytest.approx(2 / 2**3)
    assert tasks.difference == pytest.approx((-0.2 - 0.05) / 2)
    assert tasks.least_p_drop == 2.0**-20


def test_where_nothing_differs_nothing_is_found_and_the_interval_has_a_width() -> None:
    tasks = AnswersOfTasks((AnswerPairs(0, 0, 30, right=30), AnswerPairs(0, 0, 40, right=40)))
    interval = tasks.interval(0.95)
    assert tasks.p_values() == (0.5, 0.5)
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < 0.0 < interval.high


def test_the_interval_excludes_nothing_that_the_test_does_not() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        counts = random.multinomial(40, [0.12, 0.2, 0.68], size=3).tolist()
        tasks = AnswersOfTasks(tuple(AnswerPairs(wins, losses, 40, right=30) for wins, losses, _ in counts))
        interval, p_value = tasks.interval(0.9), 2.0 * min(tasks.p_values())
        assert interval.low is not None
        assert interval.high is not None
        assert (interval.low > 0.0 or interval.high < 0.0) == (p_value < 0.1)


def test_too_few_answers_detect_nothing() -> None:
    assert AnswersOfTasks((AnswerPairs(0, 1, 2, right=1), AnswerPairs(0, 1, 2, right=1))).detectable(0.95, 0.8) is None
    many = AnswersOfTasks((AnswerPairs(30, 30, 400, right=200), AnswerPairs(20, 25, 400, right=200)))
    assert many.detectable(0.95, 0.8) == pytest.approx(0.038, abs=0.004)


@pytest.mark.parametrize("factors", [(), (1.0, 1.0), (1.2, 0.8)])
def test_a_graded_task_is_guarded_beside_one_whose_number_is_made_of_sums(factors: tuple[float, ...]) -> None:
    """Of worse models, that gain a little and lose everything in 1 % of samples, few are called better."""
    random, ratio = np.random.default_rng(3), RatioOfSums(of={"tp": 2.0}, over={"tp": 2.0, "fp": 1.0, "fn": 1.0})
    counts = np.eye(3)[random.choice(3, 100, p=[0.98, 0.01, 0.01])]
    sums = compare_sums(counts, counts, ratio).evidence
    assert isinstance(sums, JackknifePairs)
    better = 0
    for _ in range(60):
        before = 0.9 + random.normal(0.0, 0.01, 100)
        after = np.where(random.random(100) < 0.01, 0.0, before + 0.008 * random.random(100))
        graded = GuardedPairs(spread_of(after - before), had=spread_of(before))
        evidence = evidence_of_tasks([graded, sums], factors)
        better += evidence.p_values()[0] < 0.025
    assert better <= 3
