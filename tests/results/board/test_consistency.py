"""A board file is checked before it is believed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.results.board.consistency import read_checked_board


@pytest.fixture
def board(tmp_path: Path) -> Path:
    tasks = write_sums(tmp_path / "tasks", "sums", 20)
    write_sums(tmp_path / "tasks", "more", 10)
    run_into(tmp_path / "run", tasks.parent, Adder({1, 2, 3}))
    return tmp_path / "run" / "leaderboard.json"


def changed(path: Path, **overall: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text()) | overall
    path.write_text(json.dumps(content))
    return content


def test_a_board_as_it_was_written_is_believed(board: Path) -> None:
    assert read_checked_board(board).overall_score == pytest.approx((17 / 20 + 7 / 10) / 2)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("score", 0.99, "outside its interval"),
        ("correct", 19, "19 of 20 are correct"),
        ("scored", 34, "17 of 34 are correct"),
    ],
)
def test_a_task_whose_numbers_contradict_each_other_is_refused(
    board: Path, field: str, value: float, said: str
) -> None:
    content = changed(board)
    row = next(row for row in content["tasks"] if row["task"] == "sums")
    row[field] = value
    changed(board, tasks=content["tasks"])
    with pytest.raises(UsageError, match="task `sums`: `score` is") as caught:
        read_checked_board(board)
    assert said in str(caught.value)


def test_an_overall_score_that_is_not_the_mean_is_refused_by_every_command(
    board: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(board, overall_score=0.8)
    for command in (["leaderboard", str(board), str(board)], ["diff", str(board), str(board)], ["report", str(board)]):
        assert main(command) == 2, command
        assert "`overall_score` is 0.800, and the mean of its tasks is 0.775" in capsys.readouterr().err
