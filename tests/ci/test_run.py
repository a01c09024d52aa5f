"""`.ci/run` forgives few failures, once, and says which; `.ci/scripts` says what it could not check."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[2] / ".ci"
MAKE = """#!/bin/sh
for number in $(seq "$FAILING"); do echo "tests/test_it.py::test_$number" >> "$FAILED_TESTS_FILE"; done
[ -z "$UNCHECKED" ] || echo "$UNCHECKED" >> "$UNCHECKED_FILE"
exit "$MAKE_EXITS"
"""
RERUN = """#!/bin/sh
echo "again: $*"
exit "$RERUN_EXITS"
"""


@pytest.fixture
def ci_run(tmp_path: Path) -> Path:
    """Prepares a tree in which `make test` and the tests' Python end as the environment tells them."""
    for name, text in (("bin/make", MAKE), (".venv/bin/python", RERUN)):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(CI / "run", tmp_path / ".ci" / "run")
    return tmp_path


def run(tree: Path, failing: int, **environment: str) -> subprocess.CompletedProcess[str]:
    ends = {"MAKE_EXITS": str(int(failing > 0)), "RERUN_EXITS": "0", "FAILING": str(failing), "CHROMIUM": "chromium"}
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", str(tree / ".ci" / "run")], env={"PATH": path, **ends, **environment}, capture_output=True, text=True
    )


def test_a_passing_suite_passes_and_lists_nothing(ci_run: Path) -> None:
    done = run(ci_run, 0)
    assert (done.returncode, done.stdout) == (0, "")


def test_five_that_pass_alone_are_run_once_and_are_the_last_lines(ci_run: Path) -> None:
    done = run(ci_run, 5)
    names = [f"tests/test_it.py::test_{number}" for number in range(1, 6)]
    assert done.returncode == 0
    assert done.stdout.count("again:") == 1
    assert f"again: -m pytest {' '.join(names)}" in done.stdout
    assert [line.strip() for line in done.stdout.splitlines()[-5:]] == names
    assert "DEFECTS: 5 failed with the others" in done.stdout


def test_one_that_fails_alone_too_fails_the_run_without_another_try(ci_run: Path) -> None:
    done = run(ci_run, 1, RERUN_EXITS="1")
    assert done.returncode != 0
    assert done.stdout.count("again:") == 1
    assert "DEFECTS" not in done.stdout


@pytest.mark.parametrize(("failing", "forgiven"), [(6, "5"), (1, "0")])
def test_more_than_are_forgiven_fail_the_run_at_once(ci_run: Path, failing: int, forgiven: str) -> None:
    done = run(ci_run, failing, FORGIVEN_FAILURES=forgiven)
    assert done.returncode == 1
    assert "again:" not in done.stdout


def test_what_failed_without_a_failing_test_is_not_forgiven(ci_run: Path) -> None:
    assert run(ci_run, 0, MAKE_EXITS="2").returncode == 1


def test_what_was_not_checked_is_said_at_the_end(ci_run: Path) -> None:
    done = run(ci_run, 0, UNCHECKED="the scripts: no node here")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "NOT CHECKED: the scripts: no node here")


@pytest.mark.parametrize(("needed", "exit_code"), [("", 0), ("1", 1)])
def test_without_node_the_scripts_are_unchecked_or_where_node_is_needed_an_error(
    tmp_path: Path, needed: str, exit_code: int
) -> None:
    for program in ("bash", "dirname", "tee"):
        (tmp_path / program).symlink_to(str(shutil.which(program)))
    environment = {"PATH": str(tmp_path), "ASSAY_NEED_NODE": needed, "UNCHECKED_FILE": str(tmp_path / "unchecked")}
    done = subprocess.run(
        [str(shutil.which("bash")), str(CI / "scripts")], env=environment, capture_output=True, text=True
    )
    assert done.returncode == exit_code
    assert "no node here" in done.stderr
    assert "no node here" in (tmp_path / "unchecked").read_text()
