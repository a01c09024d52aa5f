"""The overall interval covers what it says, also where tasks are small and nearly all right."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.results.board.scripted_boards import BROKEN, REFUSED, Came, board_of

from assay.results.board.board_types import ScoreInterval, TaskRow
from assay.results.board.overall import overall_interval, overall_score
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
        remaining=0,
        complete=True,
        coverage=1.0,
        sha256="",
        fingerprint="",
        signature="",
        range=(0.0, 1.0),
        interval=ScoreInterval(low=found.low, high=found.high, level=level, method="wilson"),
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
    assert (found.high, found.method) == (1.0, "shared-wilson")
    assert 0.85 < found.low < 0.97


def test_symmetric_intervals_combine_as_standard_errors_do() -> None:
    rows = [row("a", 500, 1000), row("b", 500, 1000)]
    found = overall_interval(rows, 0.5, 0.95)
    assert found is not None
    single = rows[0].interval
    assert single is not None
    assert found.high - 0.5 == pytest.approx((single.high - 0.5) / 2**0.5, rel=0.01)


def test_one_task_keeps_its_own_interval() -> None:
    rows = [row("a", 3, 7)]
    assert overall_interval(rows, 3 / 7, 0.95) == rows[0].interval


ATTEMPT = st.sampled_from([0.0, 0.5, 1.0, BROKEN])


@settings(max_examples=25)
@given(
    first=st.lists(st.lists(ATTEMPT, min_size=2, max_size=2), min_size=1, max_size=3),
    second=st.lists(st.lists(ATTEMPT, min_size=2, max_size=2), min_size=1, max_size=2),
)
def test_the_bounds_of_a_board_are_the_extremes_over_every_outcome_of_its_failed_attempts(
    first: list[list[Came]], second: list[list[Came]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    tasks = {"first": first, "second": second}
    failed = [(name, n, m) for name, rows in tasks.items() for n, row in enumerate(rows) for m, came in enumerate(row)]
    failed = [(name, n, m) for name, n, m in failed if tasks[name][n][m] == BROKEN]
    assume(len(failed) <= 4)
    folder = tmp_path_factory.mktemp("board")
    board = board_of(folder, tasks)
    possible = []
    for outcome in itertools.product([0.0, 0.5, 1.0] if len(failed) < 3 else [0.0, 1.0], repeat=len(failed)):
        filled = {name: [list(row) for row in rows] for name, rows in tasks.items()}
        for (name, n, m), score in zip(failed, outcome, strict=True):
            filled[name][n][m] = score
        possible.append(board_of(folder, filled))
    for at, row in enumerate(board.tasks):
        scores = [each.tasks[at].score for each in possible]
        if row.score is None or not row.failed:
            assert row.bounds is None
        else:
            assert row.bounds is not None
            assert (row.bounds.low, row.bounds.high) == (pytest.approx(min(scores)), pytest.approx(max(scores)))
        for summary in row.repetitions:
            if summary.bounds is not None:
                found = [each for whole in possible for each in whole.tasks[at].repetitions]
                values = [each.value for each in found if each.name == summary.name]
                assert (summary.bounds.low, summary.bounds.high) == (
                    pytest.approx(min(values)),
                    pytest.approx(max(values)),
                )
    overall = [each.overall_score for each in possible]
    if board.overall_score is None or not failed:
        assert board.overall_bounds is None
    else:
        assert board.overall_bounds is not None
        assert (board.overall_bounds.low, board.overall_bounds.high) == (
            pytest.approx(min(overall)),
            pytest.approx(max(overall)),
        )


def test_a_refused_task_leaves_the_overall_score_but_not_its_bounds(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0], [1.0]], "code": [[REFUSED], [REFUSED]]})
    assert (board.overall_score, board.overall_reason) == (1.0, "over 1 of 2 tasks; refused: code")
    assert board.overall_bounds is not None
    assert (board.overall_bounds.low, board.overall_bounds.high) == (0.5, 1.0)


def test_a_task_without_a_scored_attempt_leaves_no_overall_score_though_its_scale_is_not_known() -> None:
    unscored = {"score": None, "range": None, "interval": None, "scored": 0, "lower_is_better": False}
    not_run = replace(row("later", 0, 5), remaining=5, reason="nothing was scored", **unscored)
    assert overall_score([row("first", 4, 5), not_run]) == (None, "no sample was scored in later")
    described = replace(not_run, lower_is_better=None)
    assert overall_score([row("first", 4, 5), described])[0] == 0.8


def test_a_task_that_another_machine_ran_in_part_is_not_refused(tmp_path: Path) -> None:
    [row] = board_of(tmp_path, {"code": [[1.0], [REFUSED]]}).tasks
    assert (row.refused, row.score, row.failed) == (None, 1.0, 1)
    assert row.bounds is not None
    assert (row.bounds.low, row.bounds.high) == (0.5, 1.0)
