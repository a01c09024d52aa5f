"""The tests of a task are tried before a model is asked: named by `check`, refused by `run`, remembered."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import assay

from assay.checking.rehearse_tests import BadTest, rehearse_tests
from assay.core.seams import close_part
from assay.run_config import RunConfig
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

GOOD = {"entry_point": "f", "tests": "def check(candidate):\n    assert candidate(1) == 2\n"}
NUMPY = {"entry_point": "f", "tests": "import numpy\ndef check(candidate):\n    assert candidate(1) == 2\n"}
EMPTY = {"entry_point": "f", "tests": "def check(candidate):\n    pass\n"}
NONE = {"entry_point": "f", "tests": "def check(candidate):\n    assert candidate(1) is None\n"}
ANSWERS = """
def answer(prompt):
    with open("asked", "a") as file:
        file.write(prompt + "\\n")
    return "def f(x): return x * 2"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "home"))
    Path("answers.py").write_text(ANSWERS)


def write(**tests: dict[str, Any]) -> str:
    lines = [
        {"id": name, "prompt": f"write {name}", "targets": [], "metric": "code_exec", "extras": extras}
        for name, extras in tests.items()
    ]
    Path("code.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return "code.jsonl"


def found(
    path: str, config: RunConfig | None = None, say: Callable[[str], object] = lambda sentence: None
) -> list[BadTest]:
    [definition] = load_tasks([path])
    config = config or RunConfig()

    async def rehearsed() -> list[BadTest]:
        task = build_task(definition, config=config)
        try:
            return await rehearse_tests(task, config, say)
        finally:
            for scorer in task.scorers.values():
                await close_part(scorer)

    return asyncio.run(rehearsed())


def problems(bad: list[BadTest]) -> list[tuple[str, str]]:
    return [(each.sample, each.found.problem) for each in bad]


def test_every_test_is_tried_and_the_bad_ones_come_in_the_order_of_the_file() -> None:
    path = write(a=GOOD, b=NUMPY, c=NONE, d=EMPTY)
    expected = [("b", "broken_test"), ("c", "test_accepts_none"), ("d", "test_proves_nothing")]
    assert problems(found(path)) == expected
    assert problems(found(path, RunConfig(limit=3))) == expected[:2]
    assert problems(found(path, RunConfig(only={"code": ("a", "d")}))) == expected[2:]


def test_what_was_found_is_remembered_until_the_task_changes() -> None:
    path = write(a=GOOD, b=NUMPY)
    first = found(path)
    [note] = Path("home/remembered").iterdir()
    written = note.stat().st_mtime_ns, note.stat().st_ino
    assert found(path) == first
    assert (note.stat().st_mtime_ns, note.stat().st_ino) == written  # a new trial would have written it again
    write(a=GOOD, b=GOOD)
    assert found(path) == []
    assert len(list(Path("home/remembered").iterdir())) == 2


def test_a_long_trial_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    path = write(a=GOOD, b=NUMPY)
    found(path, say=said.append)
    assert said == []
    monkeypatch.setattr("assay.checking.rehearse_tests.SECONDS_UNTIL_TOLD", 0.0)
    found(write(a=GOOD, b=NONE), say=said.append)
    assert said == ["trying the tests of `code` before the first request: 0 of 2"]


def test_somebody_elses_note_is_not_believed() -> None:
    path = write(a=NUMPY)
    assert found(path)
    [note] = Path("home/remembered").iterdir()
    note.write_bytes(note.read_bytes()[:32] + b"[]")
    assert problems(found(path)) == [("a", "broken_test")]


def test_check_names_bad_tests_as_errors_and_the_rest_as_remarks() -> None:
    checked = assay("check", write(a=GOOD, b=NUMPY, c=NONE, d=EMPTY), cwd=Path.cwd())
    assert checked.returncode == 2
    assert "code/b: broken_test: the test: line 1: import numpy: ModuleNotFoundError" in checked.stderr
    assert "code/c: test_accepts_none" in checked.stderr
    assert "code/d: test_proves_nothing" in checked.stderr
    assert "code/a" not in checked.stderr
    remarked = assay("check", write(a=GOOD, c=NONE), cwd=Path.cwd())
    assert remarked.returncode == 0


def test_a_run_with_bad_tests_is_refused_before_a_model_is_asked() -> None:
    path = write(a=GOOD, b=NUMPY, c=NONE)
    refused = assay("run", path, "--model", "answers:answer", "--run-dir", "run", cwd=Path.cwd())
    assert refused.returncode == 2
    assert "sample `b`: line 1: import numpy" in refused.stderr
    assert "--allow-broken-tests" in refused.stderr
    assert not Path("asked").exists()
    assert not Path("run").exists()


def test_allowed_bad_tests_are_failures_that_no_model_is_asked_for() -> None:
    path = write(a=GOOD, b=NUMPY, d=EMPTY)
    command = ("run", path, "--model", "answers:answer", "--run-dir", "run", "--allow-broken-tests")
    for _ in range(2):
        run = assay(*command, cwd=Path.cwd())
        assert run.returncode == 3
        assert "2 of 3 attempts failed" in run.stderr
    assert Path("asked").read_text() == "write a\n"
    board = json.loads(Path("run/leaderboard.json").read_text())
    assert (board["overall_score"], board["tasks"][0]["failed"]) == (1.0, 2)


def test_a_yaml_task_is_tried_with_the_place_of_its_scorer() -> None:
    Path("rows.jsonl").write_text(
        "".join(
            json.dumps({"q": name, "tests": extras["tests"]}) + "\n" for name, extras in (("a", GOOD), ("b", NUMPY))
        )
    )
    Path("t.yaml").write_text(
        """\
key: t
display_name: T
description: ""
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages: [{role: user, content: "{{ sample.q }}"}]
  scorers:
    - type: code_exec
      tests: "{{ sample.tests }}"
      entry_point: f
"""
    )
    checked = assay("check", "t.yaml", cwd=Path.cwd())
    assert checked.returncode == 2
    assert "t.yaml:12:7: definition.scorers[0]: sample `1`: the test: line 1: import numpy" in checked.stderr
    assert checked.stderr.count("numpy") == 2
    refused = assay("run", "t.yaml", "--model", "answers:answer", "--run-dir", "run", cwd=Path.cwd())
    assert (refused.returncode, Path("asked").exists()) == (2, False)
