"""Old answers, new scores: what the run was given about its tasks and prices still holds."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.commands import ROOT, assay

from assay.cli.main import main

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


def test_the_parameters_of_somebody_elses_run_are_put_into_no_task_unasked(tmp_path: Path) -> None:
    (tmp_path / "greeting.yaml").write_text(TASK)
    (tmp_path / "prompts.jsonl").write_text('{"q": "write: hello"}\n')
    assert assay("run", "greeting.yaml", "--config", "word=hello", "--run-dir", "old", cwd=tmp_path).returncode == 0
    rescore = ("rescore", "old", "greeting.yaml", "--run-dir", "new")
    somebody_else = {"cwd": tmp_path, "ASSAY_HOME": str(tmp_path / "another-home")}
    refused = assay(*rescore, **somebody_else)
    assert refused.returncode == 2
    assert "(word)" in refused.stderr
    assert "--trust" in refused.stderr
    assert not (tmp_path / "new").exists()
    assert assay(*rescore, "--trust", **somebody_else).returncode == 0


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
    told = ["--dataset-key", "people", "--config", "field=name"]
    commands = [
        ["run", "uniqueness.yaml", "--run-dir", "old", *told],
        ["check", "uniqueness.yaml", *told],
        ["verify", "old", "uniqueness.yaml", *told],
        ["rescore", "old", "uniqueness.yaml", "--run-dir", "new", "--dataset-key", "people"],
    ]
    for command in commands:
        done = assay(*command, cwd=tmp_path / "tasks")
        assert done.returncode == 0, done.stderr


JUDGED = """
key: judged
display_name: Judged
description: A judge, a snippet and a rule about the verdict.
definition:
  dataset: {key: prompts}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - type: model_as_a_judge_classifier
      key: verdict
      model_key: judge
      system_prompt: Judge.
      user_prompt: "{{ sample.q }}"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
    - type: python
      key: length
      compute_scores_snippet: |
        def compute_scores(sample, solver_output):
            return {"value": VALUE}
      metrics: [{type: mean, field: value}]
  actions:
    - {key: wrong, action: exclude_from_metrics, filter: {op: is_false, expression: "{{ scores.verdict.is_correct }}"}}
"""


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A project with a finished run `old` of a judged task; runs commands in it."""
    monkeypatch.chdir(tmp_path)
    Path("t.yaml").write_text(JUDGED.replace("VALUE", "1"))
    Path("prompts.jsonl").write_text("".join(f'{{"q": "write: {word}"}}\n' for word in ("a", "b", "c")))
    Path("models").mkdir()
    Path("models/judge.yaml").write_text(
        "key: judge\ndisplay_name: J\nconfig: {connection_type: assay, model: stub:correct}\n"
    )
    assert main(["run", "t.yaml", "--run-dir", "old", "--quiet"]) == 0
    return lambda *words: main([*words, "--quiet"])


def means(folder: str) -> dict[str, Any]:
    row = board(Path(folder))["tasks"][0]
    return {"total": row["total"], **{each["name"]: each["value"] for each in row["aggregates"]}}


def test_verdicts_of_judges_stand_and_everything_else_is_scored_again(judged: Callable[..., int]) -> None:
    Path("t.yaml").write_text(JUDGED.replace("VALUE", "3"))
    assert judged("rescore", "old", "t.yaml", "--run-dir", "new") == 0
    assert means("new") == {**means("old"), "value_mean": 3.0}
    assert Path("new/report.md").exists()


def test_the_warnings_of_the_task_file_are_printed(
    judged: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.yaml").write_text(
        JUDGED.replace("VALUE", "1").replace("definition:", "evaluated_entity_type: model\ndefinition:")
    )
    assert judged("rescore", "old", "t.yaml", "--run-dir", "new") == 0
    assert "warning: t.yaml:5:1: evaluated_entity_type: belongs in `definition`" in capsys.readouterr().err


def test_the_judge_of_a_run_may_have_been_named_on_the_command_line(judged: Callable[..., int]) -> None:
    Path("models/judge.yaml").unlink()
    named = ["--model-for", "judge=stub:correct"]
    assert judged("run", "t.yaml", "--run-dir", "named", *named) == 0
    Path("t.yaml").write_text(JUDGED.replace("VALUE", "3"))
    assert judged("rescore", "named", "t.yaml", "--run-dir", "new", *named) == 0
    assert means("new") == {**means("named"), "value_mean": 3.0}


def test_data_outside_the_project_is_allowed_to_every_command_that_reads_tasks(judged: Callable[..., int]) -> None:
    Path("prompts.jsonl").rename("../prompts.jsonl")
    Path("prompts.jsonl").symlink_to("../prompts.jsonl")
    for command in (["rescore", "old", "t.yaml", "--run-dir", "new"], ["check", "t.yaml"], ["verify", "old", "t.yaml"]):
        assert main(command) == 2
        assert main([*command, "--allow-outside"]) == 0


def test_a_verdict_on_something_else_does_not_stand(judged: Callable[..., int]) -> None:
    Path("prompts.jsonl").write_text(Path("prompts.jsonl").read_text().replace('c"}', 'c", "gold": 1}'))
    assert judged("rescore", "old", "t.yaml", "--run-dir", "another") == 3
    assert board(Path("another"))["tasks"][0]["scored"] == 2
    Path("t.yaml").write_text(JUDGED.replace("VALUE", "1").replace("Judge.", "Judge harder."))
    assert judged("rescore", "old", "t.yaml", "--run-dir", "harder") == 3
    assert board(Path("harder"))["tasks"][0]["scored"] == 0


def test_scoring_that_was_interrupted_goes_on_and_a_finished_one_is_left_alone(judged: Callable[..., int]) -> None:
    assert judged("rescore", "old", "--run-dir", "new") == 0
    assert judged("rescore", "old", "--run-dir", "new") == 2
    Path("new/leaderboard.json").unlink()  # as after kill -9
    lines = Path("new/journal.jsonl").read_bytes().splitlines(keepends=True)
    Path("new/journal.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert judged("rescore", "old", "--run-dir", "new") == 0
    assert Path("new/journal.jsonl").read_bytes().splitlines(keepends=True)[:2] == lines[:2]
    assert means("new") == means("old")


def test_a_rescored_run_records_what_confined_its_code_and_which_command_made_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--run-dir", "old", "--quiet"]) == 0
    run_file = json.loads(Path("old/run.json").read_text())
    if run_file["sandbox"] is None:
        pytest.skip("no sandbox on this machine")
    run_file["sandbox"]["kernel"] = "of another machine"
    Path("old/run.json").write_text(json.dumps(run_file))
    monkeypatch.setattr(sys, "argv", ["assay", "rescore", "old"])
    assert main(["rescore", "old", "--quiet"]) == 0
    written = json.loads(Path("old.rescored/run.json").read_text())
    assert "of another machine" not in json.dumps(written["sandbox"])
    assert written["sandbox"]["tier"] == run_file["sandbox"]["tier"]
    assert written["command"] == ["assay", "rescore", "old"]


def test_failures_go_with_the_answers_once_however_often_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What failed is as unknown under new scores as under the old ones, unlike what was never made."""
    monkeypatch.chdir(tmp_path)
    Path("sums.jsonl").write_text(
        "".join(
            f'{{"id": "{n}", "prompt": "add: {n} 1", "targets": ["{n + 1}"], "metric": "exact_match"}}\n'
            for n in range(6)
        )
    )
    Path("m.py").write_text(
        "def model(prompt):\n    n = int(prompt.split()[1])\n"
        "    if n == 4: raise RuntimeError('down')\n    return str(n + 1)\n"
    )
    assert main(["run", "sums.jsonl", "--model", "m:model", "--retries", "0", "--run-dir", "old", "--quiet"]) == 3
    lines = Path("old/journal.jsonl").read_text().splitlines(keepends=True)
    Path("old/journal.jsonl").write_text("".join(line for line in lines if '"sample_id":"5"' not in line))
    assert main(["rescore", "old", "--run-dir", "new", "--quiet"]) == 3
    Path("new/leaderboard.json").unlink()  # as if it had been interrupted
    assert main(["rescore", "old", "--run-dir", "new", "--quiet"]) == 3
    [row] = board(Path("new"))["tasks"]
    assert (row["scored"], row["failed"], row["remaining"]) == (4, 1, 1)
    assert row["failures"] == {"model/exception": 1}
    assert len(Path("new/journal.jsonl").read_text().splitlines()) == 5
