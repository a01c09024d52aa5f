"""Metrics of a declarative task, by hand, and Python metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_tasks import PYTHON, Read, run


def test_every_metric_by_hand_with_one_failed_and_one_excluded(read: Read, tmp_path: Path) -> None:
    board = run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    row = board.tasks[0]
    # samples 0 to 3 count: 4 is excluded by the rule, 5 broke its scorer
    assert (row.scored, row.excluded, row.failed, row.complete) == (4, 1, 1, False)
    found = {summary.name: summary.value for summary in row.aggregates}
    assert found == pytest.approx(
        {
            "value_mean": 1.5,
            "value_max": 3.0,
            "least": 0.0,
            "value_std_dev": 1.25**0.5,  # of the population
            "label_low": 0.5,
            "label_high": 0.5,
            # gt is true for 0 and 2, pred for 0, 1 and 2: tp 2, fp 1, fn 0, tn 1
            "binary-classification_accuracy": 3 / 4,
            "precision": 2 / 3,
            "binary-classification_recall": 1.0,
            "binary-classification_f1_score": 4 / 5,
            "multi_accuracy": 3 / 4,
            "True_precision": 2 / 3,
            "True_recall": 1.0,
            "False_precision": 1.0,
            "False_recall": 1 / 2,
            "recall_recall": 6 / 14,  # tp sum to 6, fn to 8
            "p1": 6 / 10,
            "f1_score_f1_score": 12 / (12 + 4 + 8),
            "label_weighted_average": 2.0,
            "total": 6.0,
            "n": 4.0,
        }
    )


def test_names_that_collide_are_told_apart_by_their_metric(read: Read, tmp_path: Path) -> None:
    board = run(read(PYTHON), lambda prompt: f"answer {prompt}", tmp_path / "run")
    names = [summary.name for summary in board.tasks[0].aggregates]
    assert len(set(names)) == len(names)
    assert {"binary-classification_accuracy", "multi_accuracy", "recall_recall", "f1_score_f1_score"} <= set(names)
