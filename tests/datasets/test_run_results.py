"""A finished run is a dataset: requests, answers and scores, in the order of its samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.run_results import RunResults
from assay.run_config import RunConfig
from assay.runs.evaluate import run_evaluation
from assay.tasks.load import load_tasks

YAML = """\
key: t
display_name: T
description: T.
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers: [{type: string_equals, ground_truth: "{{ sample.wanted }}"}]
"""


def answers(prompt: str) -> str:
    if "3" in prompt:
        raise ValueError("no threes")
    return prompt.upper()


def run(folder: Path, *tasks: str, **config: Any) -> Path:
    paths = []
    for task in tasks or ("quiz",):
        path = folder / f"{task}.jsonl"
        rows = [{"id": f"s{n}", "prompt": f"q{n}", "targets": [f"Q{n}"], "metric": "exact_match"} for n in range(5)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths.append(str(path))
    settings = {"retries": 0, "concurrency": 4, "cache": False, **config}
    run_evaluation(load_tasks(paths), RunConfig(**settings), model=answers, folder=folder / "run")
    return folder / "run"


def test_every_attempt_is_a_row_in_the_order_of_the_samples(tmp_path: Path) -> None:
    rows = [sample.row or {} for sample in RunResults(path=str(run(tmp_path)))]
    assert [row["sample_id"] for row in rows] == ["s0", "s1", "s2", "s3", "s4"]
    first = rows[0]
    assert (first["input"], first["output"], first["target"]) == ("q0", "Q0", "Q0")
    assert first["scores"] == {"exact_match": {"values": {"score": 1.0}, "score": 1.0}}
    assert [item["role"] for item in first["trace"]["items"]] == ["user", "assistant"]


def test_a_run_whose_task_named_no_targets_gives_no_such_column(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "wanted": "A"}\n')
    (tmp_path / "task.yaml").write_text(YAML)
    folder = tmp_path / "run"
    run_evaluation(load_tasks([str(tmp_path / "task.yaml")]), RunConfig(cache=False), model=answers, folder=folder)
    [row] = [sample.row or {} for sample in RunResults(path=str(folder))]
    assert "target" not in row
    assert row["metadata"]["sample"]["wanted"] == "A"


def test_an_attempt_that_failed_has_its_error_and_no_trace(tmp_path: Path) -> None:
    failed = [sample.row or {} for sample in RunResults(path=str(run(tmp_path)))][3]
    assert "no threes" in failed["error"]
    assert failed["trace"] is None


def test_repetitions_are_rows_of_their_own(tmp_path: Path) -> None:
    found = RunResults(path=str(run(tmp_path, repeat=2)))
    assert [sample.id for sample in found][:4] == ["s0", "s0#2", "s1", "s1#2"]


def test_one_of_several_tasks_has_to_be_named(tmp_path: Path) -> None:
    folder = str(run(tmp_path, "a", "b"))
    with pytest.raises(UsageError, match=r"say which with `task` in a dataset file .*: a, b"):
        RunResults(path=folder)
    with pytest.raises(UsageError, match="unknown task of the run `bb`"):
        RunResults(path=folder, task="bb")
    assert len(RunResults(path=folder, task="b")) == 5


def test_a_run_that_is_not_finished_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path)
    journal = folder / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:3]))
    with pytest.raises(UsageError, match=r"task `quiz` has 3 of 5 attempts\. Resume it first"):
        len(RunResults(path=str(folder)))


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"not a run folder \(it has no run.json\)"):
        RunResults(path=str(tmp_path))
