"""What is typed on the command line: a mistake gets a short sentence with the nearest flag or file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, write_task

from assay.cli.main import main

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_a_mistyped_flag_gets_two_lines_and_not_a_page(tmp_path: Path) -> None:
    assert len(assay("run", "--temprature", "0", cwd=tmp_path).stderr.splitlines()) == 2


def test_files_may_stand_on_both_sides_of_a_flag(tmp_path: Path) -> None:
    one, two = write_task(tmp_path / "one.jsonl", SUMS), write_task(tmp_path / "two.jsonl", SUMS)
    assay("run", one, "--limit", "1", two, "--run-dir", "run", cwd=tmp_path)
    assert [row["task"] for row in leaderboard(tmp_path / "run")["tasks"]] == ["one", "two"]  # type: ignore[attr-defined]


def test_a_grader_is_chosen_with_model_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--grader", "openai:x"])
    assert "unknown flag --grader. Write --model-for grader=MODEL" in capsys.readouterr().err
