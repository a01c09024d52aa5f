"""`assay merge`: what is there is counted once, what is missing is named, and the exit code says which."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import write_sums

from assay.cli.main import main


def test_a_part_is_not_the_whole_until_every_shard_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_sums(tmp_path, "sums", 6)
    shard = ["run", "sums.jsonl", "--run-dir", "run", "--quiet", "--shard"]
    assert main([*shard, "1/2"]) == 0
    capsys.readouterr()
    assert main(["merge", "run"]) == 3
    assert "merged 3 finished attempts" in (told := capsys.readouterr().err)
    assert "remaining: " in told
    assert main([*shard, "2/2"]) == 0
    assert main(["merge", "run", "--output", "board.json"]) == 0
    assert "merged 3 finished attempts" in capsys.readouterr().err
    assert (tmp_path / "board.json").read_bytes() == (tmp_path / "run" / "leaderboard.json").read_bytes()
    assert main(["merge", "run"]) == 0
    assert "merged 0 finished attempts" in capsys.readouterr().err


def test_a_folder_without_a_run_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", str(tmp_path)]) == 2
    assert "not a run folder" in capsys.readouterr().err
