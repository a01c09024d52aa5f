"""Old answers, new scores: what the run was given about its tasks and prices still holds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.end_to_end.commands import ROOT, Server, assay, fake_server, start_assay

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


TWO_JUDGES = """
key: judged
display_name: Judged
description: Two judges, each of whom says what the last line of its prompt is.
definition:
  dataset: {key: rows}
  solver:
    type: single_turn_solver
    input_builder: {type: chat_completion, input_messages: [{role: user, content: "{{ sample.q }}"}]}
  scorers:
    - type: model_as_a_judge_classifier
      key: strict
      model_key: judge
      system_prompt: Judge.
      user_prompt: "STRICT {{ sample.q }} {{ sample.gold }}\\ncorrect"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
    - type: model_as_a_judge_classifier
      key: kind
      model_key: judge
      system_prompt: Judge.
      user_prompt: "kind {{ sample.q }} {{ sample.gold }}\\ncorrect"
      correct_labels: [correct]
      incorrect_labels: [incorrect]
"""


class JudgedOnServer(NamedTuple):
    """A project with a run `old` of three samples, whose judges answer from a server."""

    folder: Path
    server: Server

    def rescore(self, *words: str, to: str = "new") -> subprocess.CompletedProcess[str]:
        command = ("rescore", "old", "t.yaml", "--judges", "--run-dir", to, "--retries", "0", "--concurrency", "1")
        return assay(*command, *words, cwd=self.folder)

    def change(self, was: str, now: str, file: str = "t.yaml") -> None:
        path = self.folder / file
        assert was in path.read_text()
        path.write_text(path.read_text().replace(was, now))

    def asked(self, before: Mapping[str, int]) -> dict[str, int]:
        """How often each judge's prompt was asked since, by its first line."""
        now = Counter(self.server.seen())
        now.subtract(Counter(before))
        return {prompt.partition("\n")[0]: times for prompt, times in now.items() if times}


@pytest.fixture
def on_server(tmp_path: Path) -> Iterator[JudgedOnServer]:
    with fake_server() as server:
        (tmp_path / "t.yaml").write_text(TWO_JUDGES)
        rows = ({"q": f"write: {word}", "gold": number} for number, word in enumerate("abc"))
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / "models").mkdir()
        config = {"connection_type": "assay", "model": f"openai:judge@{server.base_url}"}
        judge = {"key": "judge", "display_name": "J", "config": config}
        (tmp_path / "models" / "judge.yaml").write_text(json.dumps(judge))
        done = assay("run", "t.yaml", "--run-dir", "old", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        yield JudgedOnServer(tmp_path, server)


def test_a_judge_is_asked_again_for_exactly_what_changed(on_server: JudgedOnServer) -> None:
    on_server.change("STRICT", "STRICTER")
    before = on_server.server.seen()
    done = on_server.rescore()
    assert done.returncode == 0, done.stderr
    assert on_server.asked(before) == {f"STRICTER write: {word} {at}": 1 for at, word in enumerate("abc")}
    assert "judges: 3 calls made, 3 verdicts reused" in done.stderr
    assert board(on_server.folder / "new")["tasks"][0]["score"] == 1.0


def test_where_nothing_about_judging_changed_no_judge_is_called(on_server: JudgedOnServer) -> None:
    before = on_server.server.seen()
    assert "judges: 0 calls made, 6 verdicts reused" in on_server.rescore().stderr
    assert on_server.asked(before) == {}


def test_a_row_that_changed_is_judged_again_and_the_others_are_not(on_server: JudgedOnServer) -> None:
    on_server.change('"gold": 1', '"gold": 7', "rows.jsonl")
    before = on_server.server.seen()
    assert "judges: 2 calls made, 4 verdicts reused" in on_server.rescore().stderr
    assert on_server.asked(before) == {"STRICT write: b 7": 1, "kind write: b 7": 1}


def test_another_model_judges_again(on_server: JudgedOnServer) -> None:
    on_server.change("openai:judge@", "openai:another@", "models/judge.yaml")
    assert "judges: 6 calls made, 0 verdicts reused" in on_server.rescore().stderr


def test_a_judge_that_fails_leaves_a_failure_that_the_same_command_asks_for_again(on_server: JudgedOnServer) -> None:
    on_server.change(
        "STRICT {{ sample.q }}", "{% if sample.gold == 1 %}behave: status 500 1\\n{% endif %}{{ sample.q }}"
    )
    first = on_server.rescore()
    assert first.returncode == 3, first.stderr
    row = board(on_server.folder / "new")["tasks"][0]
    assert (row["scored"], row["failed"]) == (2, 1)
    before = on_server.server.seen()
    second = on_server.rescore()
    assert second.returncode == 0, second.stderr
    assert on_server.asked(before) == {"behave: status 500 1": 1}
    assert board(on_server.folder / "new")["tasks"][0]["scored"] == 3
    assert "judges: 1 call made, 0 verdicts reused" in second.stderr


def test_a_budget_of_judges_stops_between_verdicts_and_more_of_it_goes_on(on_server: JudgedOnServer) -> None:
    on_server.change("STRICT", "STRICTER")
    before = on_server.server.seen()
    first = on_server.rescore("--budget-tokens", "12")
    assert "--budget-tokens" in first.stderr
    asked = on_server.asked(before)
    assert 0 < len(asked) < 3
    assert first.returncode == 3
    assert on_server.rescore("--budget-tokens", "12").returncode == 3  # all sessions together
    assert on_server.asked(before) == asked
    assert on_server.rescore("--budget-tokens", "3000").returncode == 0
    assert on_server.asked(before) == {f"STRICTER write: {word} {at}": 1 for at, word in enumerate("abc")}


def test_the_prices_of_the_project_hold_for_judges_that_are_asked_again(on_server: JudgedOnServer) -> None:
    entry = f"  referee: {{model: 'openai:new@{on_server.server.base_url}', price: {{input: 1000000, output: 0}}}}\n"
    (on_server.folder / "assay.yaml").write_text(f"version: 1\nmodels:\n{entry}")
    done = on_server.rescore("--model-for", "judge=referee", "--budget-cost", "1000000")
    assert done.returncode == 0, done.stderr
    assert "cost: assay.yaml, without a date" in done.stderr
    assert board(on_server.folder / "new")["judge_cost"]["amount"] > 0
    done = assay("leaderboard", "new", cwd=on_server.folder)
    assert "cost: new/prices.yaml, without a date" in done.stdout


def test_a_killed_rejudging_asks_for_no_verdict_twice(on_server: JudgedOnServer) -> None:
    on_server.change("STRICT", "STRICTER")
    before = on_server.server.seen()
    command = ("rescore", "old", "t.yaml", "--judges", "--run-dir", "new", "--concurrency", "1")
    killed = start_assay(*command, cwd=on_server.folder)
    journal = on_server.folder / "new" / "journal.jsonl"
    while not (journal.exists() and journal.read_bytes()) and killed.poll() is None:
        time.sleep(0.001)
    killed.kill()
    killed.wait()
    done = on_server.rescore()
    assert done.returncode == 0, done.stderr
    asked = on_server.asked(before)
    assert sorted(asked) == [f"STRICTER write: {word} {at}" for at, word in enumerate("abc")]
    assert sum(asked.values()) <= 4  # what was in flight was lost
    assert board(on_server.folder / "new")["tasks"][0]["scored"] == 3


def test_judges_need_a_scorer_that_calls_one_and_their_settings_need_judges(
    judged: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged("rescore", "old", "t.yaml", "--run-dir", "new", "--budget-tokens", "5") == 2
    assert "--budget-tokens has no effect without --judges" in capsys.readouterr().err
    assert main(["run", "fixtures", "--run-dir", "sums", "--quiet", "--limit", "1"]) == 0
    assert judged("rescore", "sums", "--judges", "--run-dir", "new") == 2
    assert "no scorer of these tasks calls a model" in capsys.readouterr().err
