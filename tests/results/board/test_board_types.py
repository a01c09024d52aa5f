"""The leaderboard's file: what was written is read again, and what is no leaderboard is a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.board.scripted_boards import BROKEN, board_of

from assay.core.errors import UsageError
from assay.results.board.board_types import level_of_file, read_leaderboard_file, write_leaderboard_file


def test_a_board_is_the_same_after_its_file(tmp_path: Path) -> None:
    board = board_of(tmp_path / "run", {"t": [[1.0], [0.5], [BROKEN]], "u": [[0.0]]})
    write_leaderboard_file(tmp_path / "board.json", board)
    again = read_leaderboard_file(tmp_path / "board.json")
    assert again == board
    assert (tmp_path / "board.json").read_text().count("\n") > 50  # indented, so that two of them can be diffed
    assert level_of_file(tmp_path / "board.json") == 0.95


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "leaderboard.v1"}', "[" * 5000, '{"level": "high"}'])
def test_what_is_no_leaderboard_is_a_sentence_with_its_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "board.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"board\.json: not a leaderboard\.v1 file"):
        read_leaderboard_file(path)


def test_no_file_at_all_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such leaderboard file or run folder"):
        read_leaderboard_file(tmp_path / "none.json")


def test_a_file_of_another_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "board.json"
    write_leaderboard_file(path, board_of(tmp_path / "run", {"t": [[1.0]]}))
    path.write_text(path.read_text().replace("leaderboard.v1", "leaderboard.v0"))
    with pytest.raises(UsageError, match=r"its schema is `leaderboard\.v0`; read it with the version of assay"):
        read_leaderboard_file(path)
