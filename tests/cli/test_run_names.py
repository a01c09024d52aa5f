"""Runs as a command line names them: searches among several are skipped with a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.cli.run_names import run_named, runs_named


def test_searches_among_several_runs_are_skipped_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    search, other = tmp_path / "search", tmp_path / "other"
    search.mkdir()
    (search / "run.json").write_text('{"schema": "assay.optimize.run.v1", "fingerprint": "", "parts": {}}')
    assert runs_named([str(search), str(other)]) == [str(other)]
    assert f"skipped {search}: holds a search of `assay optimize`, not a run" in capsys.readouterr().err
    assert runs_named([str(search)]) == [str(search)], "searches alone are refused by whoever reads them"


def test_a_file_that_is_no_log_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "board.json").write_text('{"schema": "leaderboard.v1"}')
    assert run_named(str(tmp_path / "board.json")) == str(tmp_path / "board.json")
    assert run_named("runs/first") == "runs/first"
