"""Labels for people: tables show them, exports have both, and renaming a model begins no other run."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.results.diff.paired_columns import read_side
from assay.results.report_settings import View
from assay.results.side_labels import numbered_sides, side_labels
from assay.run_file import read_run_file


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [{"id": str(n), "prompt": str(n), "targets": [str(n % 2)], "metric": "exact_match"} for n in range(6)]
    Path("t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "t.jsonl"


def test_tables_show_the_label_and_results_have_both(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", task, "--model", "old=stub:0", "--model", "new=stub:1", "--quiet", "--markdown"]) == 0
    common = capsys.readouterr().out
    assert "| old " in common
    assert "| new " in common
    assert "stub:" not in common
    folders = {read_run_file(path).config.label: path for path in Path("runs").iterdir()}
    assert read_run_file(folders["old"]).model["name"] == "stub:0"
    assert main(["diff", str(folders["old"]), str(folders["new"]), "--markdown"]) in (0, 1)
    assert "A: old (" in capsys.readouterr().out
    assert main(["show", str(folders["new"])]) == 0
    assert "new (stub:1)" in capsys.readouterr().out
    assert main(["export", str(folders["new"])]) == 0
    row = next(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (row["model"], row["model_label"]) == ("stub:1", "new")
    board = json.loads((folders["new"] / "leaderboard.json").read_text())
    assert (board["adapter"], board["label"]) == ("stub:1", "new")


def test_renaming_a_model_begins_no_other_run(task: str) -> None:
    first = assay.evaluate(task, {"one": "stub:1"}).runs[0]
    again = assay.evaluate(task, {"two": "stub:1"}).runs[0]
    assert again.folder == first.folder
    assert again.leaderboard.run_fingerprint == first.leaderboard.run_fingerprint
    assert (first.leaderboard.model_label, again.leaderboard.model_label) == ("one", "two")
    assert len((first.folder / "journal.jsonl").read_bytes().splitlines()) == 6


def test_models_that_look_the_same_are_numbered(task: str) -> None:
    for name in ("a", "b"):
        assay.evaluate(task, "stub:1", folder=name)
    sides = [read_side(Path(name), View()) for name in ("a", "b")]
    assert side_labels(sides) == ["stub:1 (1)", "stub:1 (2)"]
    assert numbered_sides(sides) == ["stub:1 (1): a; stub:1 (2): b"]
    assert side_labels(sides[:1]) == ["stub:1"]
    assert numbered_sides(sides[:1]) == []


def test_a_model_file_is_shown_by_its_display_name(task: str) -> None:
    Path("models").mkdir()
    text = "key: bot\ndisplay_name: Our bot\nconfig: {connection_type: assay, model: 'stub:1'}\n"
    Path("models/bot.yaml").write_text(text)
    [run] = assay.evaluate(task, "bot")
    assert (run.leaderboard.model_label, run.leaderboard.adapter) == ("Our bot", "stub:1")
    [named] = assay.evaluate(task, {"mine": "bot"})
    assert named.leaderboard.model_label == "mine"
