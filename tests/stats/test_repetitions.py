"""Repetitions: estimates over all attempts, intervals over samples."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.stats import repetitions as rep
from assay.stats.guarded import graded_interval
from assay.stats.intervals import clustered_wilson, wilson
from assay.stats.repetitions import Attempts
from assay.stats.score_table import ScoreTable

# three samples: always right, right in two of four, never right
MATRIX = [[1, 1, 1, 1], [1, 0, 1, 0], [0, 0, 0, 0]]


def attempts_of(scores):
    """From one list of scores per sample."""
    samples = np.repeat(np.arange(len(scores)), [len(row) for row in scores])
    return replace(Attempts.from_rows(samples, np.concatenate(scores)), scale=(0.0, 1.0))


@pytest.mark.parametrize(
    ("estimate", "value"),
    [
        (rep.mean, 0.5),
        (lambda a: rep.pass_at(a, 1), 0.5),
        (lambda a: rep.pass_at(a, 2), (1 + 5 / 6 + 0) / 3),
        (lambda a: rep.pass_hat(a, 2), (1 + 1 / 6 + 0) / 3),
        (lambda a: rep.majority(a, 3), (1 + 1 / 2 + 0) / 3),
        (lambda a: rep.best(a, 2), (1 + 5 / 6 + 0) / 3),
        (lambda a: rep.worst(a, 2), (1 + 1 / 6 + 0) / 3),
        (rep.consistency, 2 / 3),
        (rep.flip_rate, (0 + 4 / 6 + 0) / 3),
    ],
)
def test_textbook_example(estimate, value):
    assert estimate(attempts_of(MATRIX)).value == pytest.approx(value)


def test_intervals_are_over_samples():
    attempts = attempts_of(MATRIX)
    assert rep.mean(attempts).interval == clustered_wilson(np.ravel(MATRIX), np.repeat([0, 1, 2], 4))
    assert rep.pass_at(attempts, 2).interval == graded_interval(np.array([1, 5 / 6, 0]))
    assert rep.consistency(attempts).interval == wilson(2, 3)


def test_more_attempts_do_not_make_more_samples():
    few = rep.pass_at(attempts_of([[1, 1], [0, 0], [1, 1]] * 5), 1)
    many = rep.pass_at(attempts_of([[1] * 40, [0] * 40, [1] * 40] * 5), 1)
    assert (few.interval.low, few.interval.high) == pytest.approx((many.interval.low, many.interval.high))


def test_the_mean_and_pass_at_1_are_one_number_with_one_interval():
    attempts = attempts_of([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 1]])
    assert rep.mean(attempts).interval == rep.pass_at(attempts, 1).interval
    assert rep.mean(attempts).interval == rep.best(attempts, 1).interval


def test_samples_with_too_few_attempts_are_left_out_and_counted():
    ragged = attempts_of([[1, 0, 1], [1], [0, 0]])
    assert rep.pass_at(ragged, 2).samples == 2
    assert rep.pass_at(ragged, 2).value == pytest.approx((1.0 + 0.0) / 2)
    nobody = rep.pass_at(ragged, 4)
    assert (nobody.value, nobody.samples, nobody.interval.reason) == (None, 0, "no sample has 4 attempts")
    assert rep.consistency(attempts_of([[1], [0]])).value is None
    with pytest.raises(ValueError, match="at least 1"):
        rep.best(ragged, 0)


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=7), st.data())
def test_estimates_of_one_sample_average_over_all_choices(scores, data):
    k = data.draw(st.integers(1, len(scores)))
    attempts = attempts_of([scores])
    choices = list(combinations(scores, k))
    assert rep.best(attempts, k).value == pytest.approx(np.mean([max(choice) for choice in choices]))
    assert rep.worst(attempts, k).value == pytest.approx(np.mean([min(choice) for choice in choices]))
    pairs = list(combinations(scores, 2))
    assert rep.flip_rate(attempts).value == pytest.approx(np.mean([a != b for a, b in pairs]))
    assert rep.consistency(attempts).value == float(len(set(scores)) == 1)


def test_as_an_aggregate_of_a_table():
    table = ScoreTable()
    for sample, scores in enumerate(MATRIX):
        for attempt, score in enumerate(scores, start=1):
            table.add({"score": bool(score)}, sample=sample, attempt=attempt)
    table.add({"score": True}, sample=3)
    table.add_failure()
    summaries = {summary.name: summary for summary in rep.repetitions(table, k=[1, 2])}
    assert list(summaries) == [
        "mean", "pass@1", "pass^1", "majority@1", "best@1", "worst@1",
        "pass@2", "pass^2", "majority@2", "best@2", "worst@2", "consistency", "flip_rate",
    ]  # fmt: skip
    assert summaries["pass@2"].value == pytest.approx((1 + 5 / 6 + 0) / 3)
    assert (summaries["pass@2"].scored, summaries["pass@2"].unscored, summaries["pass@2"].failed) == (3, 1, 1)
    assert summaries["pass@2"].signature == "pass@2|guarded-t|level=0.95"


def test_as_an_aggregate_samples_of_one_group_cluster():
    table = ScoreTable()
    for sample in range(6):
        for attempt in (1, 2):
            table.add({"score": float(sample % 3 > attempt)}, sample=sample, attempt=attempt, group=str(sample // 2))
    [_, passed, *_] = rep.repetitions(table)
    assert passed.signature.startswith("pass@1|clustered-")


def test_as_an_aggregate_of_nothing():
    for summary in rep.repetitions(ScoreTable(), k=3):
        assert (summary.value, summary.low, summary.reason) == (None, None, "nothing was scored")


def test_pass_at_k_covers_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    samples, tries, k = 80, 6, 3
    # chances are Beta(1, 2): 1 − E(1−p)³ = 1 − 2/5
    truth = 1 - 2 / 5
    chances = random.beta(1.0, 2.0, size=(2000, samples))
    right = random.binomial(tries, chances)
    covered = 0
    for row in right:
        attempts = Attempts.from_rows(
            np.repeat(np.arange(samples), tries), (np.arange(tries) < row[:, None]).astype(float).ravel()
        )
        interval = rep.pass_at(attempts, k).interval
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / 2000 <= 0.97


def test_a_sample_without_the_value_is_counted_as_unscored() -> None:
    table = ScoreTable()
    table.add({"score": 1.0}, sample=0)
    table.add({"other": 1.0}, sample=1)
    assert {(each.scored, each.unscored) for each in rep.repetitions(table)} == {(1, 1), (0, 2)}


def _half_lost(*, remaining: bool = False) -> ScoreTable:
    """Ten samples three times: five all right; of five one attempt is right, one wrong and one open."""
    table = ScoreTable({"score": (0.0, 1.0)})
    table.planned = (10, 3)
    for sample in range(10):
        table.add({"score": 1.0}, sample=sample, attempt=1)
        table.add({"score": 1.0 if sample < 5 else 0.0}, sample=sample, attempt=2)
        if sample < 5:
            table.add({"score": 1.0}, sample=sample, attempt=3)
        elif not remaining:
            table.add_failure(timeout=False, sample=sample, attempt=3)
    table.remaining = 5 if remaining else 0
    return table


@pytest.mark.parametrize("remaining", [False, True])
def test_what_is_known_whatever_an_open_attempt_is_counts(remaining: bool) -> None:
    found = {each.name: each for each in rep.repetitions(_half_lost(remaining=remaining), k=(2, 3))}
    assert (found["pass^3"].value, found["pass^3"].scored, found["pass^3"].unscored) == (0.5, 10, 0)
    assert (found["pass@3"].value, found["pass@3"].scored) == (1.0, 10)
    assert (found["worst@3"].value, found["best@3"].value, found["best@3"].scored) == (0.5, 1.0, 10)


def test_what_an_open_attempt_decides_is_left_out() -> None:
    found = {each.name: each for each in rep.repetitions(_half_lost(), k=3)}
    assert (found["majority@3"].value, found["majority@3"].scored, found["majority@3"].unscored) == (1.0, 5, 5)
