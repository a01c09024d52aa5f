"""The exit status of a run: 0 only when every task was made whole and measured something."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.board.scripted_boards import BROKEN, EXCLUDED, REFUSED, Came, board_of

from assay.core.types import PartSpec
from assay.runs.exit_status import DONE, WITH_FAILURES, exit_status_of, why_without_score


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([[1.0], [0.0]], DONE),
        ([[0.0], [0.0]], DONE),
        ([[1.0], [BROKEN]], WITH_FAILURES),
        ([[1.0], [EXCLUDED]], DONE),
        ([[EXCLUDED], [EXCLUDED]], WITH_FAILURES),
        ([[REFUSED], [REFUSED]], WITH_FAILURES),
    ],
)
def test_wrong_answers_are_no_failure_and_failures_are(tmp_path: Path, rows: list[list[Came]], status: int) -> None:
    assert exit_status_of(board_of(tmp_path, {"t": rows})) == status


@pytest.mark.parametrize(
    ("aggregate", "status"),
    [
        ({"use": "mean", "options": {"field": "nothing"}}, WITH_FAILURES),
        ({"use": "weighted_average", "options": {"field": "score", "weights": {"0.5": 1.0}}}, WITH_FAILURES),
        ({"use": "frequency", "options": {"field": "score"}}, DONE),  # it lists shares, and here they are
        ({"use": "frequency", "options": {"field": "nothing"}}, WITH_FAILURES),
    ],
)
def test_a_task_without_its_score_is_not_done(tmp_path: Path, aggregate: dict[str, Any], status: int) -> None:
    part = PartSpec(key="score", **aggregate)
    assert exit_status_of(board_of(tmp_path, {"t": [[1.0], [0.5]]}, {"t": part})) == status


def test_one_task_that_came_to_nothing_spoils_the_status_and_is_named(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"fine": [[1.0]], "empty": [[EXCLUDED], [EXCLUDED]], "barred": [[REFUSED]]})
    assert exit_status_of(board) == WITH_FAILURES
    assert why_without_score(board) == (
        "no result: empty has no scored attempt (2 of 2 excluded by the task's own rules); "
        "barred could not be run on this machine (see the reason above)"
    )


def test_a_run_that_is_not_over_is_not_said_to_have_measured_nothing(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0]]})
    assert why_without_score(board) is None
    waiting = msgspec.structs.replace(board.tasks[0], scored=0, remaining=1, complete=False)
    board = msgspec.structs.replace(board, tasks=[waiting])
    assert why_without_score(board) is None
    assert exit_status_of(board) == WITH_FAILURES


def test_no_task_at_all_is_no_success(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0]]})
    assert exit_status_of(msgspec.structs.replace(board, tasks=[])) == WITH_FAILURES
