"""Aggregates of answers that are right or wrong in several ways: accuracy, precision, recall and F1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from assay.core.describe import describes
from assay.core.types import Summary
from assay.part_options import Doc, Problem, part
from assay.stats.cells import Mask, OutputName, ReadNumber, ReadValue, empty_cell, share_among, share_of_counts
from assay.stats.described import of_classes, of_counts
from assay.stats.score_table import Labels, ScoreTable, as_text, is_answer


def _two_answers(options: Mapping[str, Any]) -> list[Problem]:
    positive, negative = (as_text(options[name]) for name in ("positive_answer", "negative_answer"))
    if positive != negative:
        return []
    return [(("negative_answer",), f"`{negative}` is the positive answer too; they must differ")]


@describes(of_classes)
@part(
    "Accuracy, precision, recall and F1 of two answers.",
    example="field_gt: wanted, field_pred: label, positive_answer: spam, negative_answer: ham",
    check=_two_answers,
)
def binary_classification(
    table: ScoreTable,
    *,
    field_gt: ReadValue,
    field_pred: ReadValue,
    positive_answer: Annotated[str | bool | float, Doc("The value that counts as positive.")],
    negative_answer: Annotated[str | bool | float, Doc("The other one.")],
    level: float = 0.95,
) -> list[Summary]:
    """accuracy, precision, recall and f1_score of a yes/no answer; the confusion matrix is in accuracy's details.

    Values are compared as texts. A sample whose truth or prediction is neither answer is left out of all four and
    counted as unscored: many of those make a good score mean little.
    """
    labels = table.labels(field_gt, field_pred)
    positive, negative = (_has_answer(labels, answer) for answer in (positive_answer, negative_answer))
    known = np.asarray((positive | negative).all(axis=1))
    answered = _only(labels, known)
    if not len(answered):
        reason = labels.reason or (
            f"no sample has `{as_text(positive_answer)}` or `{as_text(negative_answer)}` in both "
            f"`{field_gt}` and `{field_pred}`"
        )
        names = ("accuracy", "precision", "recall", "f1_score")
        return [empty_cell(name, f"binary-classification.{name}", answered, table, reason) for name in names]
    truth, predicted = positive[known].T
    counts = np.column_stack([truth & predicted, ~truth & predicted, truth & ~predicted]).astype(np.float64)
    tp, fp, fn = (int(count) for count in counts.sum(axis=0))
    confusion = {"tp": tp, "fp": fp, "fn": fn, "tn": len(answered) - tp - fp - fn}

    def share(name: str, right: Mask, among: Mask, empty: str, **details: Any) -> Summary:
        definition = f"binary-classification.{name}"
        return share_among(
            name, definition, right, among, empty, rows=answered, table=table, level=level, details=details
        )

    everything = np.ones(len(answered), dtype=bool)
    return [
        share("accuracy", truth == predicted, everything, "", confusion=confusion),
        share("precision", truth, predicted, "nothing was predicted positive"),
        share("recall", predicted, truth, "nothing is positive in truth"),
        share_of_counts(
            "f1_score",
            "binary-classification.f1_score",
            counts[:, 0],
            counts.sum(axis=1),
            "nothing is positive, neither in truth nor predicted",
            rows=answered,
            table=table,
            level=level,
            f1=True,
        ),
    ]


@describes(of_classes)
@part("Accuracy, and precision and recall per class.", example="field_gt: wanted, field_pred: label")
def multiclass_classification(
    table: ScoreTable, *, field_gt: ReadValue, field_pred: ReadValue, level: float = 0.95
) -> list[Summary]:
    """accuracy, and `{class}_precision` and `{class}_recall` for every class seen in either field."""
    labels = table.labels(field_gt, field_pred)
    if not len(labels):
        return [empty_cell("accuracy", "multiclass-classification.accuracy", labels, table)]
    truth, predicted = labels.codes.T
    everything = np.ones(len(labels), dtype=bool)

    def share(name: str, kind: str, right: Mask, among: Mask, empty: str) -> Summary:
        definition = f"multiclass-classification.{kind}"
        return share_among(name, definition, right, among, empty, rows=labels, table=table, level=level)

    summaries = [share("accuracy", "accuracy", truth == predicted, everything, "")]
    for code in np.unique(labels.codes):
        label, true, called = labels.vocabulary[code], truth == code, predicted == code
        summaries += [
            share(f"{label}_precision", "precision", true, called, f"`{label}` was never predicted"),
            share(f"{label}_recall", "recall", called, true, f"`{label}` is never the truth"),
        ]
    return summaries


@describes(of_counts)
@part(
    "TP / (TP + FN), summed over samples.",
    example="num_true_positives_field: found, num_false_negatives_field: missed",
)
def recall(
    table: ScoreTable,
    *,
    num_true_positives_field: ReadNumber,
    num_false_negatives_field: ReadNumber,
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """TP / (TP + FN), counts summed over the samples before dividing."""
    empty = "there is nothing to find: no true positive and no false negative"
    fields = num_true_positives_field, num_false_negatives_field
    return _from_counts(table, "recall", fields, empty, name, level)


@describes(of_counts)
@part(
    "TP / (TP + FP), summed over samples.",
    example="num_true_positives_field: found, num_false_positives_field: invented",
)
def precision(
    table: ScoreTable,
    *,
    num_true_positives_field: ReadNumber,
    num_false_positives_field: ReadNumber,
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """TP / (TP + FP), counts summed over the samples before dividing."""
    empty = "nothing was claimed: no true positive and no false positive"
    fields = num_true_positives_field, num_false_positives_field
    return _from_counts(table, "precision", fields, empty, name, level)


@describes(of_counts)
@part(
    "2TP / (2TP + FP + FN), summed over samples.",
    example=("num_true_positives_field: found, num_false_positives_field: invented, num_false_negatives_field: missed"),
)
def f1_score(
    table: ScoreTable,
    *,
    num_true_positives_field: ReadNumber,
    num_false_positives_field: ReadNumber,
    num_false_negatives_field: ReadNumber,
    name: OutputName = None,
    level: float = 0.95,
) -> list[Summary]:
    """2 TP / (2 TP + FP + FN), counts summed over the samples before dividing."""
    empty = "there is nothing to find and nothing was claimed"
    fields = num_true_positives_field, num_false_positives_field, num_false_negatives_field
    return _from_counts(table, "f1_score", fields, empty, name, level)


def _from_counts(
    table: ScoreTable, kind: str, fields: tuple[str, ...], empty: str, name: str | None, level: float
) -> list[Summary]:
    """The share that the first of these counts has in all of them."""
    rows = table.numbers(*fields)
    right, among = rows.rows[:, 0], rows.rows.sum(axis=1)
    f1 = kind == "f1_score"
    return [share_of_counts(name or kind, kind, right, among, empty, rows=rows, table=table, level=level, f1=f1)]


def _has_answer(labels: Labels, answer: str | bool | float) -> Mask:
    """Which cells hold the answer."""
    codes = [code for code, text in enumerate(labels.vocabulary) if is_answer(text, as_text(answer))]
    matches: Mask = np.isin(labels.codes, codes)
    return matches


def _only(labels: Labels, rows: Mask) -> Labels:
    return Labels(
        codes=labels.codes[rows],
        vocabulary=labels.vocabulary,
        clusters=np.unique(labels.clusters[rows], return_inverse=True)[1].reshape(-1),
        clustered=labels.clustered,
        unscored=labels.unscored + int(len(rows) - rows.sum()),
        reason=labels.reason,
    )
