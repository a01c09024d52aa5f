"""The mean difference of tasks of right/wrong answers: exact where few differ, one rule for interval and test."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.answers_of_tasks import AnswersOfTasks
from assay.stats.paired_evidence import AnswerPairs


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
