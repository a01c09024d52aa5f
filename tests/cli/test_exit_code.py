"""Exit code 0 means that every task was measured: what could not run, and what scored nothing, is never green."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.end_to_end.commands import assay, environment

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

CODE = {"id": "1", "prompt": "write: f", "targets": ["f"], "metric": "code_exec", "extras": {"io_pairs": [[1, 1]]}}
SUM = {"id": "1", "prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
REFUSED = ("--min-sandbox", "U")
"""Asks for a tier that every host refuses without a variable: as a host that cannot confine does."""
EXCLUDING = """\
key: who
display_name: Who
description: Nobody counts.
definition:
  dataset: {key: names}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.question }}"}]}
  scorers:
    - {type: string_equals, key: exact, ground_truth: "{{ sample.name }}"}
  actions:
    - {key: nobody, action: exclude_from_metrics, filter: {op: equals, expression: "{{ sample.name }}", value: Ada}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code.jsonl").write_text(json.dumps(CODE) + "\n" + json.dumps({**CODE, "id": "2"}) + "\n")
    (tmp_path / "sums.jsonl").write_text(json.dumps(SUM) + "\n")
    (tmp_path / "mine.py").write_text('def model(prompt):\n    return "2"\n')
    return tmp_path


def test_a_task_that_could_not_run_is_never_exit_code_0(folder: Path) -> None:
    done = assay("run", "code.jsonl", "--model", "mine:model", "--run-dir", "run", *REFUSED, cwd=folder)
    assert done.returncode == 3
    assert "code: refused: " in done.stderr
    assert "overall: no task could be run" in done.stderr
    assert "no result: code could not be run on this machine" in done.stderr


@linux
def test_a_host_that_gives_no_sandbox_is_never_exit_code_0(folder: Path) -> None:
    words = [sys.executable, "-m", "assay", "run", "code.jsonl", "--model", "mine:model", "--run-dir", "run"]
    few_files = ["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh", *words]
    done = subprocess.run(few_files, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "no result: code could not be run on this machine" in done.stderr


def test_one_refused_task_among_others_is_enough(folder: Path) -> None:
    command = ["run", "code.jsonl", "sums.jsonl", "--model", "mine:model", "--run-dir", "run", *REFUSED]
    done = assay(*command, cwd=folder)
    assert done.returncode == 3
    assert "overall: over 1 of 2 tasks; refused: code" in done.stderr
    gated = assay(*command, "--gate", "overall >= 0.9", "--junit", "gates.xml", cwd=folder)
    assert gated.returncode == 1
    assert "gate cannot tell: overall >= 0.9: 0.5 is not >= 0.9" in gated.stderr
    root = ET.parse(folder / "gates.xml").getroot()
    error = root.find(".//testcase[@name='code']/error")
    assert error is not None
    assert "could not be run on this machine" in (error.get("message") or "")
    failure = root.find(".//testcase[@name='overall >= 0.9']/error[@type='cannot tell']")
    assert failure is not None
    assert "cannot tell" in (failure.get("message") or "")


def test_refused_shards_and_their_merge_are_not_done_either(folder: Path) -> None:
    for shard in ("1/2", "2/2"):
        command = ["run", "code.jsonl", "--model", "mine:model", "--run-dir", "run", "--shard", shard, *REFUSED]
        done = assay(*command, cwd=folder)
        assert done.returncode == 3
        assert "1 of tasks that cannot be run here" in done.stdout
    merged = assay("merge", "run", cwd=folder)
    assert merged.returncode == 3
    assert "no result: code could not be run on this machine" in merged.stderr


def test_a_run_whose_samples_are_all_excluded_is_not_done(folder: Path) -> None:
    (folder / "datasets").mkdir()
    row = {"sample_id": "ada", "question": "Who?", "name": "Ada"}
    (folder / "datasets" / "names.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "who.yaml").write_text(EXCLUDING)
    done = assay("run", "who.yaml", "--model", "mine:model", "--run-dir", "run", cwd=folder)
    assert done.returncode == 3, done.stderr
    assert "no result: who has no scored attempt (1 of 1 excluded by the task's own rules)" in done.stderr
    rescored = assay("rescore", "run", cwd=folder)
    assert rescored.returncode == 3, rescored.stderr
    assert "no result: who has no scored attempt" in rescored.stderr


@linux
def test_a_rescore_that_reaches_no_sandbox_says_why_and_is_not_done(folder: Path) -> None:
    allowed = assay("run", "code.jsonl", "--model", "mine:model", "--run-dir", "run", cwd=folder)
    assert allowed.returncode == 0, allowed.stderr
    run = json.loads((folder / "run" / "run.json").read_text())
    run["config"]["min_sandbox"] = "U"
    (folder / "run" / "run.json").write_text(json.dumps(run))
    done = assay("rescore", "run", cwd=folder)
    assert done.returncode == 3
    assert "no result: code could not be run on this machine" in done.stderr
    assert "needs a model" not in done.stderr


def test_no_samples_at_all_are_bad_input(folder: Path) -> None:
    (folder / "empty.jsonl").write_text("")
    assert assay("run", "empty.jsonl", "--model", "mine:model", cwd=folder).returncode == 2
    assert assay("run", "sums.jsonl", "--model", "mine:model", "--limit", "0", cwd=folder).returncode == 2


def test_a_dry_run_measures_nothing_and_is_done(folder: Path) -> None:
    done = assay("run", "code.jsonl", "--model", "mine:model", "--dry-run", *REFUSED, cwd=folder)
    assert done.returncode == 0, done.stderr


@linux
def test_a_check_that_could_try_nothing_is_not_done(folder: Path) -> None:
    words = [sys.executable, "-m", "assay", "check", "code.jsonl"]
    few_files = ["sh", "-c", 'ulimit -n 40 && exec "$@"', "sh", *words]
    done = subprocess.run(few_files, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "cannot_run_here: no sandbox of tier" in done.stderr
    assert assay("check", "code.jsonl", cwd=folder).returncode == 0
