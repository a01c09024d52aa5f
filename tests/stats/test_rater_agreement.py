"""The aggregate `agreement`: kappa and the share of equal labels, with their intervals, by independent formulas."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from assay.stats.agreement import fleiss_agreement
from assay.stats.intervals import wilson
from assay.stats.rater_agreement import agreement
from assay.stats.score_table import ScoreTable


def table_of(rows: list[dict[str, Any]]) -> ScoreTable:
    table = ScoreTable()
    for number, row in enumerate(rows):
        table.add(row, sample=number)
    return table


def rated(n: int, labels: list[Any], seed: int, raters: int = 2) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    names = "abcdef"[:raters]
    truth = [rng.choice(labels) for _ in range(n)]
    return [{name: each if rng.random() < 0.7 else rng.choice(labels) for name in names} for each in truth]


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_of_marks_is_that_of_statsmodels(weights: Any) -> None:
    rows = rated(200, [1, 2, 3, 4, 5], seed=3)
    cells = np.zeros((5, 5))
    for row in rows:
        cells[row["a"] - 1, row["b"] - 1] += 1
    kappa, share = agreement(table_of(rows), fields=["a", "b"], weights=weights)
    expected = cohens_kappa(cells, wt=None if weights == "none" else weights)
    assert kappa.value == pytest.approx(expected.kappa, abs=1e-9)
    assert kappa.low < kappa.value < kappa.high
    assert kappa.high - kappa.low == pytest.approx(expected.kappa_upp - expected.kappa_low, rel=0.15)
    same = sum(row["a"] == row["b"] for row in rows)
    assert (share.value, share.low, share.high) == (same / 200, wilson(same, 200).low, wilson(same, 200).high)
    assert kappa.details["confusion"] == cells.astype(int).tolist()
    assert kappa.details["labels"] == ["1", "2", "3", "4", "5"]


def test_labels_are_ordered_as_the_task_says() -> None:
    rows = rated(80, ["low", "mid", "high"], seed=5)
    order = ["low", "mid", "high"]
    cells = np.zeros((3, 3))
    for row in rows:
        cells[order.index(row["a"]), order.index(row["b"])] += 1
    [kappa, _] = agreement(table_of(rows), fields=["a", "b"], weights="linear", order=order)
    assert kappa.value == pytest.approx(cohens_kappa(cells, wt="linear").kappa)
    [without, _] = agreement(table_of(rows), fields=["a", "b"], weights="linear")
    assert (without.value, without.reason) == (None, "linear weights need the `order` of the labels")
    [lacking, _] = agreement(table_of(rows), fields=["a", "b"], order=["low", "mid"])
    assert lacking.reason == "`order` lacks the label `high`"


@pytest.mark.parametrize("raters", [3, 5])
def test_of_several_raters_it_is_the_kappa_of_fleiss(raters: int) -> None:
    rows = rated(150, ["x", "y", "z"], seed=raters, raters=raters)
    codes = np.array([["xyz".index(label) for label in row.values()] for row in rows])
    kappa, share = agreement(table_of(rows), fields=list("abcdef"[:raters]))
    assert kappa.value == pytest.approx(fleiss_kappa(aggregate_raters(codes)[0]))
    pairs = [(codes[:, a] == codes[:, b]).mean() for a in range(raters) for b in range(a)]
    assert share.value == pytest.approx(np.mean(pairs))
    assert kappa.low < kappa.value < kappa.high


def test_samples_without_one_of_the_labels_are_left_out_and_counted() -> None:
    rows = [*rated(40, ["x", "y"], seed=1), {"a": "x"}, {"b": "y"}]
    kappa, _ = agreement(table_of(rows), fields=["a", "b"])
    assert (kappa.scored, kappa.unscored) == (40, 2)


def test_where_all_say_the_same_there_is_no_kappa_and_a_reason() -> None:
    kappa, share = agreement(table_of([{"a": "x", "b": "x"}] * 9), fields=["a", "b"])
    assert (kappa.value, kappa.reason, share.value) == (None, "both raters gave every sample the same label", 1.0)
    three = fleiss_agreement(np.zeros((9, 3), dtype=np.intp))
    assert (three.raw, three.kappa, three.kappa_interval.reason) == (
        1.0,
        None,
        "all raters gave every sample the same label",
    )
