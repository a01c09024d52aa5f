"""A pipe, a device or a folder where a file belongs: every command says so at once; none waits or fills the memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.cli.main import main

KINDS = ["a pipe", "a device", "a folder"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run_into(folder / "run", write_sums(folder, "sums", 3), Adder())
    return folder


@pytest.fixture
def here(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a task, a run of it, and nothing odd yet."""
    shutil.copytree(finished, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def put(path: Path, kind: str) -> None:
    """Something in the place of a file."""
    path.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir(parents=True)


GIVEN = [
    ["leaderboard", "odd"],
    ["export", "odd"],
    ["diff", "odd", "run"],
    ["diff", "run", "odd"],
    ["report", "odd"],
    ["verify", "odd", "sums.jsonl"],
    ["verify", "odd"],
    ["show", "odd"],
    ["rescore", "odd"],
    ["merge", "odd"],
    ["view", "odd", "--no-browser"],
    ["run", "odd", "--model", "toy"],
    ["validate", "odd"],
    ["run", "sums.jsonl", "--model", "toy", "--prices", "odd"],
    ["leaderboard", "run", "--prices", "odd"],
    ["run", "sums.jsonl", "--model", "toy", "--baseline", "odd", "--gate", "overall >= baseline"],
]


@pytest.mark.parametrize("kind", ["a pipe", "a device"])
@pytest.mark.parametrize("command", GIVEN, ids=" ".join)
def test_what_is_given_to_a_command(
    here: Path, capsys: pytest.CaptureFixture[str], command: list[str], kind: str
) -> None:
    put(here / "odd", kind)
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "odd" in said
    assert "Did you mean" not in said
    assert "Traceback" not in said


INSIDE = [
    ("journal.jsonl", ["leaderboard", "run"]),
    ("journal.jsonl", ["export", "run"]),
    ("journal.jsonl", ["show", "run"]),
    ("journal.jsonl", ["report", "run"]),
    ("journal.jsonl", ["diff", "run", "run"]),
    ("journal.jsonl", ["verify", "run"]),
    ("journal.jsonl", ["rescore", "run"]),
    ("journal.jsonl", ["merge", "run"]),
    ("journal.jsonl", ["run", "sums.jsonl", "--model", "toy", "--run-dir", "new"]),
    ("run.json", ["leaderboard", "run"]),
    ("run.json", ["export", "run"]),
    ("run.json", ["show", "run"]),
    ("run.json", ["report", "run"]),
    ("run.json", ["diff", "run", "run"]),
    ("run.json", ["verify", "run"]),
    ("run.json", ["rescore", "run"]),
    ("run.json", ["merge", "run"]),
    ("marks.jsonl", ["report", "run"]),
    ("python_metrics.json", ["leaderboard", "run"]),
    ("shards/samples-000000000000-000000000003.0-0.jsonl", ["merge", "run"]),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "command"), INSIDE, ids=lambda value: value if isinstance(value, str) else value[0])
def test_what_lies_in_a_run_folder(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, command: list[str], kind: str
) -> None:
    folder = here / ("new" if "new" in command else "run")
    (folder / name).parent.mkdir(exist_ok=True)
    put(folder / name, kind)
    assert main(command) == 2
    writes = name == "journal.jsonl" and command[0] in ("run", "merge")  # and who writes follows no link to a device
    assert f"{name}: is {'a link' if writes and kind == 'a device' else kind}," in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_in_the_place_of_a_leaderboard_is_named_by_verify(
    here: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    put(here / "run" / "leaderboard.json", kind)
    assert main(["verify", "run"]) == 1
    assert f"leaderboard.json: unreadable: is {kind}, not a regular file" in capsys.readouterr().out
