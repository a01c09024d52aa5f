"""Aggregates: from a table of scores to leaderboard cells."""

import random

import numpy as np
import pytest

from assay.stats import aggregates
from assay.stats.intervals import clustered_mean_interval, clustered_wilson, mean_interval, wilson
from assay.stats.score_table import ScoreTable


def table_of(name, values, repeats=1):
    table = ScoreTable()
    for row, value in enumerate(values):
        table.add({name: value}, sample=row // repeats, attempt=row % repeats + 1)
    return table


def test_mean_of_right_and_wrong_has_a_wilson_interval():
    table = table_of("score", [1.0, 0.0, 1.0, True])
    table.add_failure()
    table.add_failure(timeout=True)
    table.add({"other": 1.0}, sample=9)
    [summary] = aggregates.mean(table, name="accuracy")
    assert (summary.name, summary.value) == ("accuracy", 0.75)
    assert (summary.low, summary.high) == (wilson(3, 4).low, wilson(3, 4).high)
    assert (summary.scored, summary.unscored, summary.failed, summary.timeouts) == (4, 1, 1, 1)
    assert summary.signature == "mean|wilson|level=0.95"


def test_mean_of_graded_values_has_a_t_interval():
    values = [0.2, 0.9, 0.5, 1.0]
    [summary] = aggregates.mean(table_of("f1", values), field="f1", level=0.9)
    assert summary.name == "f1_mean"
    assert summary.low == mean_interval(values, 0.9).low
    assert summary.signature == "mean|t|level=0.9"


@pytest.mark.parametrize(
    ("values", "make", "method"),
    [
        ([1, 0, 1, 1, 0, 0], clustered_wilson, "clustered-wilson"),
        ([0.1, 0.2, 0.9, 1, 0.4, 0.6], clustered_mean_interval, "clustered-t"),
    ],
)
def test_repetitions_are_clustered_by_sample(values, make, method):
    [summary] = aggregates.mean(table_of("score", values, repeats=2))
    assert summary.low == make(values, [0, 0, 1, 1, 2, 2]).low
    assert summary.signature == f"mean|{method}|level=0.95"
    assert summary.details["clusters"] == 3


def test_bounds_keep_the_interval_in_the_range_of_the_metric():
    [free] = aggregates.mean(table_of("score", [1.0, 0.9, 1.0, 0.2]))
    [bound] = aggregates.mean(table_of("score", [1.0, 0.9, 1.0, 0.2]), bounds=(0.0, 1.0))
    assert free.high > 1.0 == bound.high


def test_one_graded_value_has_a_mean_and_says_why_it_has_no_interval():
    [summary] = aggregates.mean(table_of("score", [0.4]))
    assert (summary.value, summary.low, summary.high) == (0.4, None, None)
    assert "one value" in summary.details["no_interval"]


def test_nothing_scored_has_a_reason_and_no_number():
    table = ScoreTable()
    table.add_failure()
    [summary] = aggregates.mean(table)
    assert (summary.value, summary.low, summary.high, summary.failed) == (None, None, None, 1)
    assert summary.reason == "nothing was scored (1 failed)"


def test_order_of_arrival_does_not_change_the_last_bit():
    values = np.random.default_rng(0).random(500).tolist()
    rows = list(enumerate(values))
    expected = aggregates.mean(table_of("score", values))
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        table = ScoreTable()
        for sample, value in rows:
            table.add({"score": value}, sample=sample)
        assert aggregates.mean(table) == expected
