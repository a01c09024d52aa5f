"""`assay history` over a folder of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    tasks = write_sums(folder / "tasks", "sums", 40)
    for name, wrong in (("a", {1}), ("b", set(range(25)))):
        run_into(folder / "runs" / name, tasks, Adder(wrong))
    (folder / "runs" / "search").mkdir()
    (folder / "runs" / "search" / "run.json").write_text('{"schema": "assay.optimize.run.v1"}')
    (folder / "runs" / "torn").mkdir()
    (folder / "runs" / "torn" / "run.json").write_text("{")
    return folder / "runs"


def test_a_folder_of_runs_is_one_history(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "history.html"
    assert main(["history", str(runs), "--html", str(page)]) == 0
    said = capsys.readouterr()
    assert "Worse since b, seen in b: " in said.out
    assert "torn" in said.err
    assert "search" not in said.err
    assert page.read_text().startswith("<!doctype html>")


def test_programs_read_it_as_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(runs), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert [point["verdict"] for point in found["runs"]] == ["first", "worse"]
    assert found["runs"][1]["step"]["since"] == ["b"]


def test_what_makes_no_history_is_said_in_a_sentence(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(runs), "--task", "none"]) == 2
    assert "no two runs of the same tasks by one model here" in capsys.readouterr().err
    assert main(["history", str(runs / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
