"""`assay report`: the leaderboard is rebuilt from the journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard, write_task
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_report_makes_a_deleted_leaderboard_again(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--run-dir", "run", cwd=tmp_path)
    before = leaderboard(tmp_path / "run")
    (tmp_path / "run" / "leaderboard.json").unlink()
    (tmp_path / "run" / "report.md").unlink()
    assert assay("report", "run", cwd=tmp_path).returncode == 0
    assert leaderboard(tmp_path / "run")["fingerprint"] == before["fingerprint"]
    assert (tmp_path / "run" / "report.md").exists()


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def test_a_report_keeps_the_level_and_the_examples_a_run_was_asked_for_with(somewhere: Path) -> None:
    tasks = write_sums(somewhere / "tasks", "sums", 20, metadata=lambda n: {"half": n // 10})
    run_into(somewhere / "run", tasks, Adder([1]), level=0.8, include_per_example=True, by=("half",))
    path = somewhere / "run" / "leaderboard.json"
    path.unlink()
    assert main(["report", "run"]) == 0
    board = json.loads(path.read_text())
    assert (board["level"], len(board["tasks"][0]["per_example"]), len(board["tasks"][0]["slices"])) == (0.8, 20, 2)
    assert main(["report", "run", "--level", "0.9"]) == 0
    assert json.loads(path.read_text())["level"] == 0.9
    assert main(["rescore", "run", "--by", "metadata.half"]) == 0
