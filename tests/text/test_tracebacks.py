"""A bug in somebody's own code keeps its file, line and traceback: bounded, without keys, and wherever it ran."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import assay
from assay.cli.main import main
from assay.core.journal import read_records
from assay.core.types import Failure, PartSpec
from assay.text.tracebacks import LONGEST_TRACEBACK, describe_exception

KEY = "zq-own-code-0123456789abcdef"

OWN = """
import os
from assay import Completion, Score, Trace

def digits(text):
    return int(text)

def metric(prediction, targets, extras):
    return float(digits("no digits " + os.environ.get("MY_API_KEY", "")))

class Scorer:
    name = "own"
    def __init__(self, key): self.name = key
    async def __call__(self, sample, trace):
        return Score(name=self.name, values={"score": digits("no digits")})

class Solver:
    async def __call__(self, sample, model):
        return Trace(prediction=str(digits("no digits")))

def model(prompt):
    return str(digits("no digits"))

class Native:
    name = "native"
    async def generate(self, request):
        return Completion(text=str(digits("no digits")))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with parts that all have one bug, in line 6."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MY_API_KEY", KEY)
    (tmp_path / "buggy_parts.py").write_text(OWN)
    sys.modules.pop("buggy_parts", None)
    return tmp_path


def a_folder_task(metric: str) -> str:
    line = {"id": "1", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": metric}
    Path("t.jsonl").write_text(json.dumps(line) + "\n")
    return "t.jsonl"


def the_failure(task: Any, model: Any = "toy", **settings: Any) -> Failure:
    result = assay.evaluate(task, model, **settings)
    assert result.exit_status == 3
    [record] = read_records(result.folder / "journal.jsonl")
    [failure] = record.failures
    return failure


@pytest.mark.parametrize("score_workers", [0, 1])
def test_a_metric_keeps_where_it_broke_also_in_a_process_of_its_own(own: Path, score_workers: int) -> None:
    failure = the_failure(a_folder_task("buggy_parts:metric"), score_workers=score_workers)
    assert (failure.stage, failure.kind) == ("metric", "exception")
    assert failure.message.endswith("(buggy_parts.py:6)")
    lines = failure.traceback.splitlines()
    assert lines[:2] == ["Traceback (most recent call last):", '  File "buggy_parts.py", line 9, in metric']
    assert '  File "buggy_parts.py", line 6, in digits' in lines
    assert "    return int(text)" in lines
    assert KEY not in failure.traceback + failure.message


def test_a_scorer_keeps_where_it_broke(own: Path) -> None:
    failure = the_failure(a_folder_task("buggy_parts:Scorer"))
    assert failure.stage == "scorer"
    assert 'File "buggy_parts.py", line 6, in digits' in failure.traceback


@pytest.mark.parametrize("name", ["model", "Native"])
def test_a_model_keeps_where_it_broke_and_is_the_one_to_blame(own: Path, name: str) -> None:
    failure = the_failure(a_folder_task("exact_match"), f"buggy_parts:{name}", retries=0)
    assert (failure.stage, failure.kind) == ("model", "exception")
    assert failure.message.endswith("(buggy_parts.py:6)")
    assert 'File "buggy_parts.py", line 6, in digits' in failure.traceback
    assert "assay" not in failure.traceback  # how we came there is nobody's bug


def test_a_solver_keeps_where_it_broke(own: Path) -> None:
    [task] = assay.load_tasks([a_folder_task("exact_match")])
    task = msgspec.structs.replace(task, solver=PartSpec(key="own", use="buggy_parts:Solver"))
    failure = the_failure(task)
    assert failure.stage == "solver"
    assert 'File "buggy_parts.py", line 6, in digits' in failure.traceback


def test_show_prints_the_traceback_of_a_sample(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", a_folder_task("buggy_parts:metric"), "--quiet", "--run-dir", "run"]) == 3
    capsys.readouterr()
    assert main(["show", "run", "--sample", "1"]) == 0
    assert 'File "buggy_parts.py", line 6, in digits' in capsys.readouterr().out


def raised(error: Exception) -> BaseException:
    try:
        raise error
    except Exception as found:
        return found


def test_an_endless_recursion_is_cut() -> None:
    def again(depth: int) -> int:
        return again(depth + 1) if depth < 900 else int("x" * 100_000)

    try:
        again(0)
    except ValueError as error:
        found = describe_exception(error)
    assert len(found.traceback) < LONGEST_TRACEBACK + 10
    assert len(found.message) <= 2000


def test_keys_in_the_environment_and_what_looks_like_one_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", KEY)
    said = describe_exception(raised(ValueError(f"{KEY} sk-0123456789abcdefghij Authorization: Bearer abcdefgh1234")))
    assert said.message == "ValueError: [key] [key] Authorization: Bearer [key]"
    assert KEY not in said.traceback
    assert "sk-0123456789abcdefghij" not in said.traceback


def test_an_error_whose_message_cannot_be_had_has_a_message_all_the_same() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert describe_exception(raised(MuteError())).message == "MuteError: (its message cannot be had: RuntimeError)"


def test_the_cause_is_shown_too() -> None:
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error
    except ValueError as error:
        found = describe_exception(error)
    assert "KeyError: 'first'" in found.traceback
    assert "The above exception was the direct cause" in found.traceback
