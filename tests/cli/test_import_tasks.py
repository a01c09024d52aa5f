"""`assay import`: what was written, what was left, and that a partial import says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bridges.lm_eval.scripted_import import write_sums

from assay.cli.main import main
from assay.results.board.leaderboard import read_leaderboard


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    return write_sums(tmp_path)


def test_the_command_reports_what_it_wrote_and_what_it_left(sums: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "lm-eval", str(sums / "task.yaml"), "--output", str(sums / "out")]) == 0
    said = capsys.readouterr()
    assert "my_sums.jsonl  3 samples" in said.out
    assert "left behind: metric bleu" in said.err
    assert json.loads((sums / "out" / "import.json").read_text())["left_behind"]
    assert main(["import", "lm-eval", str(sums / "gone.yaml")]) == 2


def test_a_partial_import_says_so_wherever_its_scores_stand(sums: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (sums / "task.yaml").open("a") as file:
        file.write("process_results: !function utils.process\nrepeats: 3\n")
    typed = ["import", "lm-eval", str(sums / "task.yaml"), "--output", str(sums / "out")]
    assert main(typed) == 2
    assert not (sums / "out").exists()
    assert "process_results: !function utils.process" in capsys.readouterr().err
    assert main([*typed, "--partial"]) == 0
    assert "not carried over: scoring: process_results" in capsys.readouterr().err
    head = (sums / "out" / "my_sums-partial.jsonl").read_text().splitlines()[:3]
    assert head[1].startswith("# not carried over: scoring: process_results: !function utils.process")
    assert head[2].startswith("# not carried over: scoring: repeats")
    record = json.loads((sums / "out" / "import.json").read_text())
    assert (record["partial"], len(record["losses"]), list(record["tasks"])) == (True, 2, ["my_sums-partial"])
    assert main(["run", str(sums / "out"), "--model", "stub:2", "--run-dir", str(sums / "run")]) == 0
    assert "my_sums-partial: a partial import" in capsys.readouterr().err
    assert "my_sums-partial: a partial import" in (sums / "run" / "report.md").read_text()
    (notice,) = read_leaderboard(sums / "run").notices
    assert "process_results: !function utils.process" in notice
    assert main(["leaderboard", str(sums / "run")]) == 0
    assert "my_sums-partial: a partial import" in capsys.readouterr().out


def test_partial_changes_nothing_where_nothing_is_lost(sums: Path) -> None:
    assert main(["import", "lm-eval", str(sums / "task.yaml"), "--output", str(sums / "out"), "--partial"]) == 0
    assert [path.name for path in (sums / "out").glob("*.jsonl")] == ["my_sums.jsonl"]
