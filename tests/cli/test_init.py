"""`assay init`: the starter project runs as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, leaderboard

from assay.cli.init import FIRST_SEARCH
from assay.cli.main import main


def test_a_starter_project_runs_as_it_is(tmp_path: Path) -> None:
    assert assay("init", "project", cwd=tmp_path).returncode == 0
    project = tmp_path / "project"
    checked = assay("check", "tasks", cwd=project)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    done = assay("run", "tasks", "--model", "my_model:MyModel", "--run-dir", "run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert leaderboard(project / "run")["overall_score"] == 1.0


def test_a_starter_search_runs_offline_and_finds_a_better_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--optimize", "project"]) == 0
    made = sorted(path.name for path in (tmp_path / "project").iterdir())
    assert made == [".gitignore", "README.md", "label-tickets.yaml", "stand_in.py", "tickets.jsonl"]
    assert FIRST_SEARCH in capsys.readouterr().err
    done = assay(*FIRST_SEARCH.split()[1:], "--json", "--quiet", cwd=tmp_path / "project")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["testset"]["seed"]["mean"], result["testset"]["best"]["mean"]) == (0.0, 1.0)


def test_a_starter_project_has_nothing_of_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "project"]) == 0
    assert not (tmp_path / "project" / "optimize").exists()
