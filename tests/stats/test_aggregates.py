"""Aggregates: from a table of scores to leaderboard cells."""

import random

import numpy as np
import pytest

from assay.catalog import resolve
from assay.stats import aggregates
from assay.stats.guarded import graded_interval, skewed_t
from assay.stats.intervals import clustered_wilson, wilson
from assay.stats.score_table import ScoreTable

UNIT = (0.0, 1.0)


def table_of(name, values, repeats=1, scale=None):
    table = ScoreTable({} if scale is None else {name: scale})
    for row, value in enumerate(values):
        table.add({name: value}, sample=row // repeats, attempt=row % repeats + 1)
    return table


def skewed_interval(values, groups):
    return skewed_t(values, groups).interval(0.95)


def test_mean_of_right_and_wrong_has_a_wilson_interval():
    table = table_of("score", [1.0, 0.0, 1.0, True], scale=UNIT)
    table.add_failure()
    table.add_failure(timeout=True)
    table.add({"other": 1.0}, sample=9)
    [summary] = aggregates.mean(table, name="accuracy")
    assert (summary.name, summary.value) == ("accuracy", 0.75)
    assert (summary.low, summary.high) == (wilson(3, 4).low, wilson(3, 4).high)
    assert (summary.scored, summary.unscored, summary.failed, summary.timeouts) == (4, 1, 1, 1)
    assert summary.signature == "mean|wilson|level=0.95"


def test_mean_of_graded_values_has_a_guarded_interval():
    values = [0.2, 0.9, 0.5, 1.0]
    [summary] = aggregates.mean(table_of("f1", values, scale=UNIT), field="f1", level=0.9)
    assert summary.name == "f1_mean"
    expected = graded_interval(np.array(values), level=0.9)
    assert (summary.low, summary.high) == (expected.low, expected.high)
    assert summary.signature == "mean|guarded-t|level=0.9"


@pytest.mark.parametrize("count", [0, 1])
def test_a_count_that_is_the_same_in_every_sample_is_no_share(count):
    [summary] = aggregates.mean(table_of("words", [count] * 4), field="words")
    assert (summary.value, summary.low) == (count, None)
    assert summary.signature == "mean|skewed-t|level=0.95"


@pytest.mark.parametrize("values", [[1e308, 1e308, 1e308], [-1e308, -1e308]])
@pytest.mark.parametrize("use", ["mean", "repetitions", "std_dev"])
def test_numbers_that_cannot_be_added_up_have_no_mean_and_a_reason(values, use):
    table = table_of("score", [*values, 0.0])
    summary, *_ = resolve("aggregate", use)(table)
    assert summary.value is None
    assert summary.reason


def test_large_numbers_have_a_mean_and_say_why_they_have_no_interval():
    [summary] = aggregates.mean(table_of("score", [1e200, 3e200]))
    assert (summary.value, summary.low, summary.high) == (2e200, None, None)
    assert "too large" in summary.details["no_interval"]


def test_mean_of_values_without_a_scale_has_a_skew_corrected_interval():
    seconds = [0.2, 0.9, 0.5, 1.0]
    [summary] = aggregates.mean(table_of("seconds", seconds), field="seconds", bounds=(0.0, float("inf")))
    expected = skewed_t(np.array(seconds)).interval(0.95)
    assert (summary.low, summary.high) == (max(0.0, expected.low), expected.high)
    assert summary.signature == "mean|skewed-t|level=0.95"


@pytest.mark.parametrize(
    ("values", "scale", "make", "method"),
    [
        ([1, 0, 1, 1, 0, 0], (0.0, 1.0), clustered_wilson, "clustered-wilson"),
        ([0.1, 0.2, 0.9, 1, 0.4, 0.6], (0.0, 1.0), graded_interval, "clustered-guarded-t"),
        ([1, 0, 1, 1, 0, 0], None, skewed_interval, "clustered-skewed-t"),
        ([1, 2, 9, 10, 4, 6], None, skewed_interval, "clustered-skewed-t"),
    ],
)
def test_repetitions_are_clustered_by_sample(values, scale, make, method):
    [summary] = aggregates.mean(table_of("score", values, repeats=2, scale=scale))
    assert summary.low == make(np.array(values, dtype=float), [0, 0, 1, 1, 2, 2]).low
    assert summary.signature == f"mean|{method}|level=0.95"
    assert summary.details["clusters"] == 3


def test_bounds_keep_the_interval_in_the_range_of_the_metric():
    [free] = aggregates.mean(table_of("score", [10.0, 9.0, 10.0, 2.0]))
    [bound] = aggregates.mean(table_of("score", [10.0, 9.0, 10.0, 2.0]), bounds=(0.0, 10.0))
    [share] = aggregates.mean(table_of("score", [1.0, 0.9, 1.0, 0.2], scale=UNIT))
    assert free.high > 10.0 >= bound.high
    assert (bound.low, bound.high) == pytest.approx((10.0 * share.low, 10.0 * share.high))


def test_one_graded_value_has_a_mean_and_says_why_it_has_no_interval():
    [summary] = aggregates.mean(table_of("score", [0.4], scale=UNIT))
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


def test_max_min_and_std_dev():
    values = [0.2, 0.9, 0.5, 1.0]
    table = table_of("f1", values)
    [largest] = aggregates.maximum(table, field="f1")
    [smallest] = aggregates.minimum(table, field="f1", name="worst")
    assert (largest.name, largest.value, largest.high) == ("f1_max", 1.0, 1.0)
    assert 0.2 < largest.low < 0.5
    assert largest.signature == "max|order-statistics|high=observed|level=0.95"
    assert (smallest.name, smallest.value, smallest.low) == ("worst", 0.2, 0.2)
    assert smallest.signature == "min|order-statistics|low=observed|level=0.95"
    [spread] = aggregates.std_dev(table, field="f1")
    assert spread.name == "f1_std_dev"
    assert spread.value == pytest.approx(np.std(values))
    assert spread.low < spread.value < spread.high
    assert spread.signature == "std_dev|bonett|level=0.95"


def test_bootstrap_interval_of_the_standard_deviation_is_right_for_large_offsets():
    values = np.random.default_rng(1).integers(0, 9, size=400)
    [near] = aggregates.std_dev(table_of("score", values.tolist()))
    [far] = aggregates.std_dev(table_of("score", (values + 1e9).tolist()))
    assert (far.low, far.high) == pytest.approx((near.low, near.high), rel=1e-6)


def test_frequency_gives_one_share_per_value():
    summaries = aggregates.frequency(table_of("label", ["b", "a", "b", "b"]), field="label")
    assert [(s.name, s.value) for s in summaries] == [("label_a", 0.25), ("label_b", 0.75)]
    assert summaries[1].low == wilson(3, 4).low
    assert summaries[1].signature == "frequency|wilson|level=0.95"
    truths = aggregates.frequency(table_of("is_correct", [True, False, True, True]), field="is_correct")
    assert [(s.name, s.value) for s in truths] == [("is_correct_False", 0.25), ("is_correct_True", 0.75)]


def test_frequency_of_free_text_declines():
    [summary] = aggregates.frequency(table_of("text", [f"answer {i}" for i in range(1001)]), field="text")
    assert summary.value is None
    assert "1,001 distinct values" in summary.reason


def test_weighted_average():
    table = table_of("label", ["good", "bad", "good", "fair"])
    weights = {"good": 1.0, "fair": 0.5, "bad": 0.0}
    [summary] = aggregates.weighted_average(table, field="label", weights=weights)
    assert (summary.name, summary.value) == ("label_weighted_average", 0.625)
    assert summary.low < 0.625 < summary.high
    [unknown] = aggregates.weighted_average(table, field="label", weights={"good": 1.0, "bad": 0.0})
    assert unknown.value is None
    assert unknown.reason == "no weight for the label `fair`; weights are given for `good`, `bad`"


FIELDS = {
    "recall": {"num_true_positives_field": "tp", "num_false_negatives_field": "fn"},
    "precision": {"num_true_positives_field": "tp", "num_false_positives_field": "fp"},
    "f1_score": {
        "num_true_positives_field": "tp",
        "num_false_positives_field": "fp",
        "num_false_negatives_field": "fn",
    },
}

EVERY = [
    ("mean", {}),
    ("max", {}),
    ("min", {}),
    ("std_dev", {}),
    ("frequency", {"field": "score"}),
    ("binary-classification", {"field_gt": "a", "field_pred": "b", "positive_answer": "1", "negative_answer": "0"}),
    ("multiclass-classification", {"field_gt": "a", "field_pred": "b"}),
    *FIELDS.items(),
    ("weighted_average", {"field": "score", "weights": {"a": 1.0}}),
    ("repetitions", {"k": 2}),
]


@pytest.mark.parametrize(("name", "options"), EVERY)
def test_every_aggregate_of_nothing_is_none_with_a_reason(name, options):
    table = ScoreTable()
    table.add_failure(timeout=True)
    summaries = resolve("aggregate", name)(table, **options, level=0.9)
    assert summaries
    for summary in summaries:
        assert (summary.value, summary.low, summary.high, summary.scored, summary.timeouts) == (None, None, None, 0, 1)
        assert summary.reason == "nothing was scored (1 timed out)"


def test_numbers_of_text_are_declined_with_a_reason():
    [summary] = aggregates.mean(table_of("label", ["a", "b"]), field="label")
    assert summary.value is None
    assert "frequency" in summary.reason
    assert summary.unscored == 2


def test_repetitions_cluster_every_share():
    table = table_of("label", ["a", "a", "b", "b", "a", "b"], repeats=2)
    summaries = aggregates.frequency(table, field="label")
    assert summaries[0].signature == "frequency|clustered-wilson|level=0.95"


def test_the_interval_of_an_extreme_ends_where_the_scale_does():
    [largest] = aggregates.maximum(table_of("score", [0.2, 0.9, 0.5, 0.7], scale=UNIT))
    assert (largest.value, largest.high) == (0.9, 1.0)
    assert largest.signature == "max|order-statistics|high=scale|level=0.95"
    [rated] = aggregates.minimum(table_of("stars", [4, 5, 3, 4, 5, 5]), field="stars", bounds=(1, 5))
    assert (rated.value, rated.low) == (3.0, 1.0)
