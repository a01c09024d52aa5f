"""The example project of fifty tasks: what its suites hold, and that looking at it is quick enough for every commit."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.end_to_end.commands import ROOT, assay, environment

CPU_SECONDS = 3.0
"""Of one command, its start included."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fifty") / "evals"
    shutil.copytree(ROOT / "examples" / "fifty-tasks", folder)
    return folder


def cpu_seconds(*arguments: str, cwd: Path) -> float:
    """User and system time of a command in a process of its own."""
    code = f"import os; os.chdir({str(cwd)!r}); from assay.cli.main import main; raise SystemExit(main())"
    quiet = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    words = [sys.executable, "-c", code, *arguments]
    process = os.posix_spawn(sys.executable, words, environment(), file_actions=[quiet])
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    "command",
    [("validate", "tasks"), pytest.param(("check",), marks=pytest.mark.prove)],
    ids=lambda command: command[0],
)
def test_looking_at_all_fifty_takes_little(project: Path, command: tuple[str, ...]) -> None:
    # on a crowded machine the same work takes more of its time
    assert any(cpu_seconds(*command, cwd=project) < CPU_SECONDS for _ in range(3))


def board(project: Path, name: str, *words: str) -> dict[str, float]:
    done = assay("run", *words, "--run-dir", name, "--quiet", cwd=project)
    assert done.returncode == 0, done.stderr
    rows = json.loads((project / name / "leaderboard.json").read_text())["tasks"]
    return {row["task"]: row["score"] for row in rows}


def test_the_suites_hold_what_they_say(project: Path) -> None:
    smoke = board(project, "smoke", "@smoke")
    nightly = board(project, "nightly", "@nightly")
    assert len(nightly) == 50
    assert {*smoke} < {*nightly}
    assert {name.partition("/")[0] for name in smoke} == {"code", "extract", "geo", "math", "safety", "support"}
    assert nightly["safety/harmless"] == 0.0
    assert nightly["safety/fraud"] == 1.0


def test_the_matrix_has_every_prompt_with_every_model(project: Path) -> None:
    done = assay("run", "@prompts", "--quiet", cwd=project)
    assert done.returncode == 0, done.stderr
    for cell in ("prod, plain", "prod, careful", "local, plain", "local, careful"):
        assert cell in done.stdout


def test_a_module_and_a_scorer_are_shared_by_tasks(project: Path) -> None:
    done = assay("run", "support/refund", "support/intent", "math/sums", "--run-dir", "shared", cwd=project)
    assert done.returncode == 0, done.stderr
    rows = {row["task"]: row for row in json.loads((project / "shared" / "leaderboard.json").read_text())["tasks"]}
    assert rows["math/sums"]["score"] is not None
    for name in ("support/refund", "support/intent"):
        assert "short" in [each["name"] for each in rows[name]["aggregates"]]
