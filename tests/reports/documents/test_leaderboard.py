"""What a reader must know besides a leaderboard's numbers."""

from __future__ import annotations

from pathlib import Path

from tests.reports.board.scripted_boards import BROKEN, board_of

from assay.reports.documents.leaderboard import notes


def test_tasks_that_fail_for_the_same_reason_are_reported_once(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"one": [[BROKEN]], "two": [[BROKEN], [BROKEN]], "fine": [[1.0]]})
    said = notes(board)
    assert next(note for note in said if "attempts failed" in note).startswith("one, two: 3 of 3 attempts failed")
    assert len([note for note in said if note.startswith("all 2: ")]) == len(board.tasks[0].failure_examples) == 1
    assert not any(note.startswith(("one:", "two:")) for note in said)
