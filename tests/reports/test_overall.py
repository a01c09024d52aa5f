"""The overall interval covers what it says, also where tasks are small and nearly all right."""

from __future__ import annotations

import numpy as np
import pytest

from assay.reports.board import Interval, TaskRow
from assay.reports.overall import overall_interval, overall_score
from assay.stats.intervals import wilson


def row(task: str, right: int, n: int, level: float = 0.95) -> TaskRow:
    found = wilson(right, n, level)
    assert found.low is not None
    assert found.high is not None
    return TaskRow(
        task=task,
        metric="exact_match",
        score=right / n,
        correct=right,
        total=n,
        latency_ms=0.0,
        scored=n,
        failed=0,
        timeouts=0,
        excluded=0,
        owed=0,
        complete=True,
        coverage=1.0,
        sha256="",
        fingerprint="",
        signature="",
        interval=Interval(low=found.low, high=found.high, level=level),
    )


@pytest.mark.parametrize(
    "tasks", [[(0.5, 40), (0.7, 60)], [(0.97, 30), (0.9, 50), (0.6, 200)], [(0.99, 100), (0.98, 40)]]
)
def test_it_covers_the_true_mean_as_often_as_it_says(tasks: list[tuple[float, int]]) -> None:
    random = np.random.default_rng(0)
    truth = np.mean([p for p, _ in tasks])
    covered = 0
    for _ in range(2000):
        rows = [row(f"t{i}", int(random.binomial(n, p)), n) for i, (p, n) in enumerate(tasks)]
        overall, _ = overall_score(rows)
        found = overall_interval(rows, overall, 0.95)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / 2000 <= 0.98


def test_tasks_that_are_all_right_leave_a_width() -> None:
    rows = [row("a", 20, 20), row("b", 30, 30)]
    found = overall_interval(rows, 1.0, 0.95)
    assert found is not None
    assert (found.high, found.method) == (1.0, "mover")
    assert 0.85 < found.low < 0.97


def test_symmetric_intervals_combine_as_standard_errors_do() -> None:
    rows = [row("a", 500, 1000), row("b", 500, 1000)]
    found = overall_interval(rows, 0.5, 0.95)
    assert found is not None
    single = rows[0].interval
    assert single is not None
    assert found.high - 0.5 == pytest.approx((single.high - 0.5) / 2**0.5)


def test_one_task_keeps_its_own_interval() -> None:
    rows = [row("a", 3, 7)]
    assert overall_interval(rows, 3 / 7, 0.95) == rows[0].interval
