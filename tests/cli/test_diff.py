"""`assay diff`: what moved, which answers changed, and when it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, write_task
from tests.results.board.scripted_boards import write_run
from tests.results.runs import Adder, Broken, run_into, write_sums

from assay.cli.main import main
from assay.stats.families import CORRECTIONS

SUMS = {f"compute: {n} + 1": str(n + 1) for n in range(10)}


def test_diff_names_what_moved_and_which_answers_changed(tmp_path: Path) -> None:
    task = write_task(tmp_path / "sums.jsonl", SUMS)
    assay("run", task, "--include-per-example", "--output", "a.json", cwd=tmp_path)
    assay("run", task, "--model", "stub:3", "--include-per-example", "--output", "b.json", cwd=tmp_path)
    done = assay("diff", "a.json", "b.json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "no difference" in assay("diff", "a.json", "a.json", cwd=tmp_path).stdout
    told = assay("diff", "a.json", "b.json", cwd=tmp_path)
    assert re.search(r"sums\s*\|\s*1\.000\s*\|\s*0\.100\s*\|\s*-0\.900", told.stdout), told.stdout


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture
def runs(somewhere: Path) -> Path:
    tasks = write_sums(somewhere / "tasks", "sums", 200, metadata=lambda n: {"half": n // 100})
    run_into(somewhere / "a", tasks, Adder(name="a"))
    run_into(somewhere / "b", tasks, Adder(range(10), name="b"))
    return somewhere


def test_diff_reports_and_gates(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "a", "b", "--gate", "no-significant-drop", "--html", "out/d.html"]) == 1
    said = capsys.readouterr()
    assert "B is worse on sums" in said.out
    assert "gate not met: no-significant-drop: sums dropped significantly" in said.err
    assert (runs / "out" / "d.html").read_text().startswith("<!doctype html>")
    assert main(["diff", "b", "a", "--gate", "no-significant-drop", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"][0]["comparison"]["wins"] == 10


@pytest.fixture
def many(tmp_path: Path) -> tuple[str, str]:
    """Three tasks, of which two lost 6 and 7 of 60: together below the level, each alone after Holm above it."""
    for name, wrong in (("before", (0, 0, 0)), ("after", (6, 7, 0))):
        marks = {f"t{place}": [[0.0]] * lost + [[1.0]] * (60 - lost) for place, lost in enumerate(wrong)}
        write_run(tmp_path / name, {**marks, "t2": [[float(n % 2)] for n in range(60)]})
    return str(tmp_path / "before"), str(tmp_path / "after")


@pytest.mark.parametrize(("correction", "name"), [("bh", "Benjamini–Hochberg"), ("by", "Benjamini–Yekutieli")])
def test_false_discoveries_are_an_option_that_the_output_names(
    many: tuple[str, str], correction: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *many, "--correction", correction]) == 0
    said = capsys.readouterr().out
    assert f"corrected by {name}, at most 5 % of those found are expected to be false" in said
    assert f"after {name} over 4" in said
    assert f"p ({correction.upper()})" in said
    differences = re.sub(r"tested for a drop alone, as gates do, [^;]*", "", said)
    assert "Holm" not in differences
    assert main(["diff", *many, "--correction", correction, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["correction"] == shown["tasks"][0]["comparison"]["basis"]["correction"] == correction


def test_holm_is_the_correction_of_gates_whatever_the_tasks_are_corrected_by(
    many: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = set()
    for correction in CORRECTIONS:
        main(["diff", *many, "--correction", correction, "--gate", "no-significant-drop"])
        told.add(capsys.readouterr().err)
    assert len(told) == 1
    assert "after Holm over 4" in told.pop()


def test_diff_refuses_unequal_coverage(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_into(runs / "c", runs / "tasks", Broken([5]))
    assert main(["diff", "a", "c"]) == 2
    assert "1 scored only in A" in capsys.readouterr().err
    assert main(["diff", "a", "c", "--allow-unequal"]) == 0


@pytest.mark.parametrize("verb", ["diff", "leaderboard"])
def test_a_task_file_is_no_result(verb: str, somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sums(somewhere / "tasks", "sums", 2)
    assert main([verb, "tasks/sums.jsonl", "tasks/sums.jsonl"]) == 2
    assert "tasks/sums.jsonl: is no result; name run folders or their leaderboard.json" in capsys.readouterr().err
