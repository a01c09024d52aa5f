"""Cells: the interval that fits the values, counts next to the number, and a reason where there is no number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats.cells import empty_cell, interval_of_mean, ratio_of_sums, share_among, share_of_counts
from assay.stats.score_table import ScoreTable


def table_of(*rows: dict[str, float | str], groups: list[str] | None = None) -> ScoreTable:
    table = ScoreTable()
    for index, row in enumerate(rows):
        table.add(row, sample=index, group=groups[index] if groups else None)
    return table


@pytest.mark.parametrize(
    ("values", "bounds", "method"),
    [
        ([0.0, 1.0, 1.0], (0.0, 1.0), "wilson"),
        ([0.0, 1.0, 1.0], None, "skewed-t"),
        ([0.2, 0.7, 1.0], (0.0, 1.0), "guarded-t"),
        ([0.0, 1.0, 1.0], (0.0, 2.0), "guarded-t"),
        ([3.0, 9.0, 4.0], None, "skewed-t"),
        ([0.2, 0.7, 0.9], (0.0, math.inf), "skewed-t"),
    ],
)
def test_the_interval_fits_the_values(values: list[float], bounds: tuple[float, float] | None, method: str) -> None:
    found = interval_of_mean(np.array(values), None, 0.95, bounds)
    assert found.method == method
    assert found.low is not None
    assert found.high is not None
    assert found.low <= np.mean(values) <= found.high


def test_values_beyond_their_own_bounds_are_not_taken_for_a_scale() -> None:
    found = interval_of_mean(np.array([0.5, 1.5, 0.9]), None, 0.95, (0.0, 1.0))
    assert found.method == "skewed-t"
    assert (found.low or 0.0) >= 0.0
    assert (found.high or 0.0) <= 1.0


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_one_cluster_has_no_interval_and_says_so(bounds: tuple[float, float] | None) -> None:
    found = interval_of_mean(np.array([0.5, 0.6]), np.array([3, 3]), 0.95, bounds)
    assert (found.low, found.reason) == (None, "one cluster has no spread to judge by")


def test_clusters_are_counted_and_widen() -> None:
    values = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    alone = interval_of_mean(values, None, 0.95, (0.0, 1.0))
    together = interval_of_mean(values, np.array([0, 0, 1, 1, 2, 2, 3, 3]), 0.95, (0.0, 1.0))
    assert together.method.startswith("clustered")
    assert (together.high or 0) - (together.low or 0) > (alone.high or 0) - (alone.low or 0)


def test_a_share_among_nothing_is_not_a_number_and_says_why() -> None:
    table = table_of({"label": "a"}, {"label": "b"})
    table.add_failure()
    labels = table.labels("label")
    nobody = np.zeros(2, dtype=bool)
    found = share_among("p", "precision", nobody, nobody, "never predicted", rows=labels, table=table, level=0.95)
    assert (found.value, found.reason, found.failed, found.scored) == (None, "never predicted", 1, 2)


@pytest.mark.parametrize(
    ("parts", "wholes", "reason"),
    [
        ([1, -1], [2, 2], "a count is negative"),
        ([3, 1], [2, 2], "a count is negative"),
        ([0, 0], [0, 0], "no positives"),
    ],
)
def test_counts_that_are_none_make_no_share(parts: list[float], wholes: list[float], reason: str) -> None:
    table = table_of({"n": 1.0}, {"n": 1.0})
    found = share_of_counts(
        *("r", "recall", np.array(parts, dtype=float), np.array(wholes, dtype=float), "no positives"),
        rows=table.numbers("n"),
        table=table,
        level=0.95,
    )
    assert (found.value, found.reason) == (None, reason)


def test_f1_is_that_of_the_summed_counts_and_lies_in_its_interval() -> None:
    table = table_of(*({"n": 1.0} for _ in range(6)))
    hits, calls = np.array([1.0, 2, 0, 1, 3, 1]), np.array([2.0, 3, 1, 1, 4, 2])
    found = share_of_counts("f1", "f1", hits, calls, "none", rows=table.numbers("n"), table=table, level=0.95, f1=True)
    tp, errors = hits.sum(), (calls - hits).sum()
    assert found.value == pytest.approx(2 * tp / (2 * tp + errors))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high <= 1.0


def test_a_ratio_that_is_not_a_number_is_empty_with_its_reason() -> None:
    table = table_of({"n": 0.0})
    found = ratio_of_sums(
        *("x", "x", np.zeros((1, 1)), lambda sums: np.full(len(sums), np.nan), "the texts are empty"),
        rows=table.numbers("n"),
        table=table,
        level=0.95,
        seed=0,
        resamples=10,
    )
    assert (found.value, found.reason) == (None, "the texts are empty")


def test_an_empty_cell_never_lacks_a_reason() -> None:
    table = ScoreTable()
    table.add_failure(timeout=True)
    found = empty_cell("mean", "mean", table.numbers("score"), table)
    assert found.value is None
    assert found.reason
    assert found.timeouts == 1
