"""Old answers, new scores: what the run was told about its tasks and prices still holds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.end_to_end.commands import ROOT, assay

TASK = """
key: greeting
display_name: Greeting
description: Does the answer hold the word?
config_spec:
  - {type: string, key: word, display_name: Word}
definition:
  dataset: {key: prompts}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - {type: string_equals, ground_truth: "<< config.word >>"}
"""


def board(folder: Path) -> Any:
    return json.loads((folder / "leaderboard.json").read_text())


def test_the_parameters_of_a_declarative_task_are_those_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "greeting.yaml").write_text(TASK)
    (tmp_path / "prompts.jsonl").write_text('{"q": "write: hello"}\n')
    run = assay("run", "greeting.yaml", "--config", "word=hello", "--run-dir", "old", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    done = assay("rescore", "old", "greeting.yaml", "--run-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert board(tmp_path / "new")["tasks"][0]["score"] == board(tmp_path / "old")["tasks"][0]["score"]


def test_the_prices_that_a_run_kept_go_with_its_answers(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("date: 2026-11-01\nmodels:\n  counting: {input: 10, output: 40}\n")
    (tmp_path / "counting.py").write_text(
        "from assay import Completion\n"
        "class Model:\n"
        "    name = 'counting'\n"
        "    async def generate(self, request):\n"
        "        return Completion(text='4', tokens_in=1000, tokens_out=1000)\n"
    )
    (tmp_path / "sums.jsonl").write_text('{"id": "1", "prompt": "2 + 2", "targets": ["4"], "metric": "exact_match"}\n')
    run = assay("run", "sums.jsonl", "--model", "counting:Model", "--run-dir", "old", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    (tmp_path / "prices.yaml").unlink()
    done = assay("rescore", "old", "--run-dir", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert board(tmp_path / "old")["cost"]["amount"] == 0.05
    assert board(tmp_path / "new")["cost"]["amount"] == 0.05


def test_check_verify_and_rescore_take_the_parameters_that_run_takes(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "declarative", tmp_path / "tasks")
    told = ["--dataset", "people", "--config", "field=name"]
    commands = [
        ["run", "uniqueness.yaml", "--run-dir", "old", *told],
        ["check", "uniqueness.yaml", *told],
        ["verify", "old", "uniqueness.yaml", *told],
        ["rescore", "old", "uniqueness.yaml", "--run-dir", "new", "--dataset", "people"],
    ]
    for command in commands:
        done = assay(*command, cwd=tmp_path / "tasks")
        assert done.returncode == 0, done.stderr
