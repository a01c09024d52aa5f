"""The score table: what goes in comes out in one order, and absence stays absence."""

import math
import random

import numpy as np
import pytest

from assay.stats.score_table import ScoreTable


def test_rows_come_back_by_sample_and_attempt_whatever_order_they_arrived_in():
    rows = [(sample, attempt) for sample in range(4) for attempt in (1, 2, 3)]
    random.Random(0).shuffle(rows)
    table = ScoreTable()
    for sample, attempt in rows:
        table.add({"score": sample + attempt / 10}, sample=sample, attempt=attempt)
    numbers = table.numbers("score")
    assert numbers.values.tolist() == [s + a / 10 for s in range(4) for a in (1, 2, 3)]
    assert numbers.clusters.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert numbers.clustered


def test_one_attempt_per_sample_is_not_clustered():
    table = ScoreTable()
    for sample in range(3):
        table.add({"score": 1.0}, sample=sample)
    assert not table.numbers("score").clustered


def test_groups_cluster_samples_and_a_sample_without_group_stands_alone():
    table = ScoreTable()
    for sample, group in enumerate(["b", "a", "b", None, None]):
        table.add({"score": 1.0}, sample=sample, group=group)
    assert table.numbers("score").clusters.tolist() == [0, 1, 0, 2, 3]


def test_a_missing_value_is_unscored_not_zero():
    table = ScoreTable()
    table.add({"a": 1.0}, sample=0)
    table.add({"a": None, "b": 2.0}, sample=1)
    table.add({"a": 3.0, "b": 4.0}, sample=2)
    assert table.numbers("a").values.tolist() == [1.0, 3.0]
    assert table.numbers("a").unscored == 1
    assert table.numbers("a", "b").rows.tolist() == [[3.0, 4.0]]
    assert table.numbers("a", "b").unscored == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, ["a", "list"], {"a": "mapping"}])
def test_a_value_that_is_not_a_number_is_unscored(value):
    table = ScoreTable()
    table.add({"score": value}, sample=0)
    table.add({"score": 0.5}, sample=1)
    numbers = table.numbers("score")
    assert numbers.values.tolist() == [0.5]
    assert numbers.unscored == 1


def test_texts_truth_values_and_numbers_have_labels():
    table = ScoreTable()
    for sample, (text, truth, count, share) in enumerate([("b", True, 2, 0.5), ("a", False, 10, 1.0)]):
        table.add({"text": text, "truth": truth, "count": count, "share": share}, sample=sample)
    assert _texts(table, "text") == ["b", "a"]
    assert _texts(table, "truth") == ["True", "False"]
    assert _texts(table, "count") == ["2", "10"]
    assert _texts(table, "share") == ["0.5", "1.0"]


def test_a_column_that_turns_to_text_keeps_what_it_had():
    table = ScoreTable()
    for sample, value in enumerate([True, None, "maybe", 3.5]):
        table.add({"label": value}, sample=sample)
    assert _texts(table, "label") == ["True", "maybe", "3.5"]
    assert table.labels("label").unscored == 1


def test_two_label_columns_share_one_vocabulary():
    table = ScoreTable()
    table.add({"gold": "x", "said": "y"}, sample=0)
    table.add({"gold": "z", "said": "z"}, sample=1)
    labels = table.labels("gold", "said")
    assert labels.vocabulary == ["x", "y", "z"]
    assert labels.codes.tolist() == [[0, 1], [2, 2]]


def test_the_reason_names_what_was_seen():
    table = ScoreTable()
    assert table.numbers("score").reason == "nothing was scored"
    table.add_failure()
    table.add_failure(timeout=True)
    assert table.numbers("score").reason == "nothing was scored (1 failed, 1 timed out)"
    table.add({"f1": 0.5, "label": "x"}, sample=0)
    assert table.numbers("scor").reason == "no sample has a value `scor`; values seen: `f1`, `label`"
    assert "holds text" in table.numbers("label").reason
    assert len(table.numbers("label")) == 0


def test_a_hundred_thousand_rows_are_a_few_megabytes():
    import tracemalloc

    tracemalloc.start()
    try:
        table = ScoreTable()
        for sample in range(100_000):
            table.add({"score": 0.5, "label": "yes"}, sample=sample)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 5 * 2**20


def _texts(table, name):
    labels = table.labels(name)
    return [labels.vocabulary[code] for code in np.ravel(labels.codes)]


def test_labels_keep_the_type_of_each_value():
    table = ScoreTable()
    values = [1, True, 1.0, None, 0, 2**60 + 1, 2**60, 0.5, "1", False]
    for row, value in enumerate(values):
        table.add({"v": value, "w": row}, sample=row)
    labels = table.labels("v")
    assert [labels.vocabulary[code] for code in labels.codes[:, 0]] == [str(v) for v in values if v is not None]
    numbers = ScoreTable()
    for row, value in enumerate(values[:8]):
        numbers.add({"v": value}, sample=row)
    found = numbers.labels("v")
    assert [found.vocabulary[code] for code in found.codes[:, 0]] == [str(v) for v in values[:8] if v is not None]
    assert numbers.numbers("v").values.tolist() == [float(v) for v in values[:8] if v is not None]


def test_true_and_false_are_a_share_by_their_type_and_ones_are_not() -> None:
    table = ScoreTable()
    for sample, right in enumerate((True, True, False)):
        table.add({"right": right, "count": int(right), "mixed": right if sample else 1.0}, sample=sample)
    assert table.range_of("right") == (0.0, 1.0)
    assert (table.range_of("count"), table.range_of("mixed"), table.range_of("none")) == (None, None, None)
    assert ScoreTable({"count": (0.0, 9.0)}).range_of("count") == (0.0, 9.0)
