"""A sandbox that the user has named runs the programs, is held to the tier asked for, and is named with the result."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from assay.cli.main import main

PACKAGE = '''
from assay.sandbox import Outcome, SandboxReport
from assay.sandbox.rehearsal import SOUND


class Elsewhere:
    """Every second check of a program holds here."""

    tier, share = "E", 0.5

    def __init__(self, min_tier=None):
        self.report = SandboxReport(tier=self.tier, description="a machine elsewhere", layers={})

    def start_here(self):
        pass

    async def run(self, program, limits):
        return Outcome(outcome="pass", checks=(), share=self.share, tier=self.tier)

    async def rehearse(self, program, limits):
        return SOUND

    async def aclose(self):
        pass


class Open(Elsewhere):
    tier = "U"


class Full(Elsewhere):
    tier = "A"


class Generous(Elsewhere):
    share = 2.0


class Broken(Elsewhere):
    def start_here(self):
        raise OSError("nobody answers")
'''


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    site = tmp_path / "site"
    about = site / "elsewhere-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "elsewhere.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[assay.sandboxes]\nelsewhere = elsewhere:Elsewhere\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "elsewhere", raising=False)
    sample = {"id": "1", "prompt": "write f", "targets": [], "metric": "code_exec", "extras": {"io_pairs": [[1, 1]]}}
    Path("code.jsonl").write_text(json.dumps(sample) + "\n")
    return "code.jsonl"


def run(task: str, *flags: str, folder: str = "run") -> int:
    return main(["run", task, "--model", "constant:def f(x): return x", "--run-dir", folder, *flags])


def board(folder: str = "run") -> dict[str, object]:
    found: dict[str, object] = json.loads(Path(folder, "leaderboard.json").read_text())
    return found


def test_the_sandbox_that_the_user_names_judges_and_is_named(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(task, "--sandbox", "elsewhere") == 0
    (row,) = board()["tasks"]  # type: ignore[misc]  # read from JSON
    assert row["score"] == 0.5
    for recorded in (board()["sandbox"], json.loads(Path("run/run.json").read_text())["sandbox"]):
        assert recorded["sandbox"] == "elsewhere"  # type: ignore[index]
    assert any("the sandbox `elsewhere`, which is not assay's own" in str(said) for said in board()["notices"])  # type: ignore[attr-defined]
    assert "sandbox `elsewhere`, tier E" in capsys.readouterr().err


def test_a_result_of_another_sandbox_is_another_result(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(task, "--sandbox", "elsewhere") == 0
    assert run(task, "--sandbox", "local") == 2
    assert "sandbox" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--sandbox", "elsewher"], "Did you mean `elsewhere`?"),
        (["--sandbox", "elsewhere", "--min-sandbox", "A"], "cannot say that it meets tier A"),
        (["--sandbox", "elsewhere:Open"], "`elsewhere:Open` is of tier U, and tier B or better is asked for"),
        (["--sandbox", "elsewhere:Broken"], "`elsewhere:Broken` cannot be started: OSError: nobody answers"),
    ],
)
def test_one_that_cannot_do_what_is_asked_is_refused_by_name(
    task: str, flags: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(task, *flags) in (2, 3)
    assert sentence in capsys.readouterr().err


def test_one_that_is_as_strict_as_asked_is_used(task: str) -> None:
    assert run(task, "--sandbox", "elsewhere:Full", "--min-sandbox", "C") == 0


def test_a_verdict_that_is_none_is_a_failure(task: str) -> None:
    assert run(task, "--sandbox", "elsewhere:Generous") != 0
    (row,) = board()["tasks"]  # type: ignore[misc]  # read from JSON
    assert (row["score"], row["failed"]) == (None, 1)


def test_no_task_chooses_it(task: str) -> None:
    sample = json.loads(Path(task).read_text())
    sample["extras"]["sandbox"] = "elsewhere"
    Path(task).write_text(json.dumps(sample) + "\n")
    assert run(task) == 0
    assert board()["sandbox"]["sandbox"] == "local"  # type: ignore[index]


def test_nor_does_the_run_whose_answers_are_scored_again(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody else may have made that run."""
    assert run(task, "--sandbox", "elsewhere") == 0
    assert main(["rescore", "run"]) == 2
    assert "which only you can choose: use --sandbox elsewhere, or --sandbox local" in capsys.readouterr().err
    assert main(["rescore", "run", "--sandbox", "elsewhere"]) == 0
    assert main(["rescore", "run", "--sandbox", "local", "--run-dir", "local"]) == 0
    scores = [board(folder)["tasks"][0]["score"] for folder in ("run.rescored", "local")]  # type: ignore[index]
    assert scores == [0.5, 1.0]
