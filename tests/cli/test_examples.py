"""The examples travel in the wheel, and are listed and copied from there as from a checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, environment
from tests.end_to_end.forks import ROOT

from assay.cli.examples import examples, examples_folder, files_to_copy
from assay.cli.main import main

NAMES = [
    *("checkpoints", "declarative", "evaluators", "fifty-tasks", "frozen_spec", "judges", "optimize"),
    *("table", "task_folder"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installer makes of the wheel of this checkout."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    with zipfile.ZipFile(found) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_every_example_is_listed_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "examples"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["examples:", *NAMES]
    assert all(len(line) < 120 for line in lines)
    assert main(["list", "examples", "--search", "folder"]) == 0
    assert capsys.readouterr().out.split()[1] == "task_folder"


def test_the_wheel_holds_every_file_of_the_examples_and_of_the_starter_projects(wheel: Path) -> None:
    wanted = set(files_to_copy(ROOT / "examples"))
    assert Path("starter/skill/skill-assay.md") in wanted
    assert wanted <= set(files_to_copy(wheel / "assay" / "examples"))


def test_the_wheel_by_itself_lists_and_copies_an_example_that_runs(wheel: Path, tmp_path: Path) -> None:
    changes = {"PYTHONPATH": str(wheel)}
    script = "from assay.cli.examples import examples, examples_folder; print(examples_folder(), *examples())"
    found = subprocess.run([sys.executable, "-c", script], env=environment(**changes), capture_output=True, text=True)
    assert found.stdout.split() == [str(wheel / "assay" / "examples"), *NAMES], found.stderr
    copied = assay("init", "--example", "declarative", "copy", cwd=tmp_path, **changes)
    assert copied.returncode == 0, copied.stderr
    checked = assay("check", "qa-judge.yaml", cwd=tmp_path / "copy", **changes)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_checkout_has_them_next_to_its_sources() -> None:
    assert examples_folder() == ROOT / "examples"
    assert sorted(examples()) == NAMES


def test_what_a_run_left_in_an_example_is_not_copied(tmp_path: Path) -> None:
    for name in ("task.yaml", "runs/a/journal.jsonl", ".assay/cache.sqlite", "__pycache__/x.pyc", "models/m.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [str(path) for path in files_to_copy(tmp_path)] == ["models/m.yaml", "task.yaml"]
