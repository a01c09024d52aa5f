"""Accuracy, precision, recall and F1: from answers or counts to leaderboard cells."""

import pytest

from assay.stats import classification
from assay.stats.intervals import wilson
from assay.stats.score_table import ScoreTable


def answers(pairs):
    table = ScoreTable()
    for sample, (truth, said) in enumerate(pairs):
        table.add({"gt": truth, "pred": said}, sample=sample)
    return table


def test_binary_classification():
    pairs = [("yes", "yes")] * 6 + [("no", "yes")] * 2 + [("yes", "no")] * 3 + [("no", "no")] * 9 + [("yes", "maybe")]
    summaries = classification.binary_classification(
        answers(pairs), field_gt="gt", field_pred="pred", positive_answer="yes", negative_answer="no"
    )
    values = {summary.name: summary.value for summary in summaries}
    assert values == pytest.approx({"accuracy": 0.75, "precision": 0.75, "recall": 6 / 9, "f1_score": 12 / 17})
    assert summaries[0].details["confusion"] == {"tp": 6, "fp": 2, "fn": 3, "tn": 9}
    assert all((summary.scored, summary.unscored) == (20, 1) for summary in summaries)
    assert (summaries[1].low, summaries[2].low) == (wilson(6, 8).low, wilson(6, 9).low)
    assert summaries[3].low < 12 / 17 < summaries[3].high


def test_binary_classification_with_empty_denominators():
    summaries = classification.binary_classification(
        answers([("no", "no")] * 3), field_gt="gt", field_pred="pred", positive_answer="yes", negative_answer="no"
    )
    assert [summary.value for summary in summaries] == [1.0, None, None, None]
    assert summaries[1].reason == "nothing was predicted positive"
    nothing = classification.binary_classification(
        answers([("x", "y")]), field_gt="gt", field_pred="pred", positive_answer="yes", negative_answer="no"
    )
    assert [summary.value for summary in nothing] == [None] * 4
    assert "`yes` or `no`" in nothing[0].reason


@pytest.mark.parametrize(("positive", "negative"), [(True, False), ("true", "false"), ("True", "False")])
def test_truth_values_match_however_the_task_file_spells_them(positive, negative):
    summaries = classification.binary_classification(
        answers([(True, True), (False, True)]),
        field_gt="gt",
        field_pred="pred",
        positive_answer=positive,
        negative_answer=negative,
    )
    assert summaries[0].value == 0.5


def test_multiclass_classification():
    pairs = [("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("owl", "dog"), ("cat", "eel")]
    summaries = classification.multiclass_classification(answers(pairs), field_gt="gt", field_pred="pred")
    values = {summary.name: summary.value for summary in summaries}
    assert values == {
        "accuracy": 0.4,
        "cat_precision": 1.0,
        "cat_recall": pytest.approx(1 / 3),
        "dog_precision": pytest.approx(1 / 3),
        "dog_recall": 1.0,
        "eel_precision": 0.0,
        "eel_recall": None,
        "owl_precision": None,
        "owl_recall": 0.0,
    }
    assert {s.name: s.reason for s in summaries}["owl_precision"] == "`owl` was never predicted"


def counted(rows):
    table = ScoreTable()
    for sample, (tp, fp, fn) in enumerate(rows):
        table.add({"tp": tp, "fp": fp, "fn": fn}, sample=sample)
    return table


FIELDS = {
    "recall": {"num_true_positives_field": "tp", "num_false_negatives_field": "fn"},
    "precision": {"num_true_positives_field": "tp", "num_false_positives_field": "fp"},
    "f1_score": {
        "num_true_positives_field": "tp",
        "num_false_positives_field": "fp",
        "num_false_negatives_field": "fn",
    },
}


@pytest.mark.parametrize(("name", "value"), [("recall", 6 / 9), ("precision", 6 / 8), ("f1_score", 12 / 17)])
def test_counts_are_summed_before_dividing(name, value):
    [summary] = getattr(classification, name)(counted([(3, 1, 0), (2, 1, 1), (1, 0, 2)]), **FIELDS[name])
    assert (summary.name, summary.value) == (name, pytest.approx(value))
    assert summary.low <= summary.value <= summary.high
    assert summary.signature == f"{name}|ratio-wilson|level=0.95"


@pytest.mark.parametrize("name", FIELDS)
def test_an_empty_denominator_has_a_reason(name):
    [summary] = getattr(classification, name)(counted([(0, 0, 0)] * 3), **FIELDS[name])
    assert summary.value is None
    assert "nothing" in summary.reason
    [negative] = getattr(classification, name)(counted([(-1, -1, -1)] * 3), **FIELDS[name])
    assert negative.reason == "a count is negative"


def test_nothing_wrong_is_not_certainty():
    table = ScoreTable()
    for sample in range(20):
        table.add({"tp": 2, "fp": 0, "fn": 0}, sample=sample)
    fields = {"num_true_positives_field": "tp", "num_false_positives_field": "fp", "num_false_negatives_field": "fn"}
    [found] = classification.f1_score(table, **fields)
    assert (found.value, found.high, found.signature) == (1.0, 1.0, "f1_score|ratio-wilson|level=0.95")
    # no surer than forty answers that stand alone, no less sure than twenty
    assert _f1_of(wilson(20, 20).low) - 0.02 < found.low < _f1_of(wilson(40, 40).low)


def test_true_negatives_are_no_evidence_of_f1():
    """Three positives, all found, among a thousand samples: three samples say something about F1."""
    table = ScoreTable()
    for sample in range(1000):
        table.add({"truth": sample < 3, "said": sample < 3}, sample=sample)
    found = {
        each.name: each
        for each in classification.binary_classification(
            table, field_gt="truth", field_pred="said", positive_answer=True, negative_answer=False
        )
    }
    assert found["recall"].low == pytest.approx(wilson(3, 3).low)
    assert found["f1_score"].low == pytest.approx(_f1_of(wilson(3, 3).low))
    assert found["f1_score"].value == 1.0


def _f1_of(share):
    return 2.0 * share / (1.0 + share)
