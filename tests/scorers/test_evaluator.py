"""An evaluator inside a task: who may score, what it is sent, and what becomes of its answer."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.evaluators.loopback import Answer, serving

from assay import catalog
from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Sample, Score, Trace
from assay.models.adapters.stub import ConstantModel
from assay.run_config import RunConfig
from assay.runs.entry import evaluate
from assay.runs.evaluate import run_evaluation
from assay.scorers.evaluator import evaluator
from assay.tasks.load import load_tasks

DECLARATIVE = """\
key: sums
display_name: Sums
description: ""
definition:
  dataset: {{key: sums}}
  solver:
    type: single_turn_solver
    input_builder:
      type: chat_completion
      input_messages:
        - {{role: user, content: "{{{{ sample.q }}}}"}}
  scorers:
    - type: evaluator
      key: command
      command: ["{python}", score.py]
    - type: evaluator
      key: service
      url: {url}
      score_range: any
"""
TRUSTING = BuildContext(
    own_code=True, model_for=lambda name, options, **pace: ConstantModel('{"score": 0.25, "reasoning": "meh"}')
)
ECHO = (
    "import json, sys; p = json.load(sys.stdin); "
    "print(json.dumps({'score': 0.5, 'reasoning': 'so', 'scores': {'tone': 1, 'bad': 'x'}, 'seen': p}))"
)


def scored(sample: Sample, prediction: str = "the answer", **options: Any) -> Score:
    async def once() -> Score:
        scorer = evaluator("mine", **options)
        try:
            return await scorer(sample, Trace(prediction=prediction))
        finally:
            await scorer.aclose()

    return asyncio.run(once())


SAMPLE = Sample(id="s1", prompt="why?", targets=("because",), extras={"hint": 1, "evaluator": {"url": "x"}})


def test_the_catalog_knows_it() -> None:
    assert catalog.resolve("scorer", "evaluator") is evaluator


def test_a_command_is_sent_prediction_and_sample() -> None:
    score = scored(SAMPLE, command=[sys.executable, "-c", ECHO], context=TRUSTING, task_model="m")
    assert score.values == {"tone": 1.0, "score": 0.5}
    assert score.reason == "so"
    assert score.metadata is not None
    assert score.metadata["seen"] == {
        "_protocol_version": 2,
        "candidate": "the answer",
        "task_model": "m",
        "example": {"id": "s1", "prompt": "why?", "targets": ["because"], "extras": {"hint": 1}},
    }


def test_a_row_is_sent_unchanged() -> None:
    with serving(Answer()) as server:
        scored(Sample(id="s1", row={"question": "why?", "n": 2}), url=server.url)
    assert server.received[0].payload["example"] == {"question": "why?", "n": 2}


def test_post_processing_comes_first() -> None:
    with serving(Answer()) as server:
        score = scored(SAMPLE, " LOUD ", url=server.url, post_process="lower")
    assert server.received[0].payload["candidate"] == score.answer == " LOUD ".lower()


def test_a_model_of_the_run_may_judge() -> None:
    assert scored(SAMPLE, model_key="judge", objective="be right", context=TRUSTING).values == {"score": 0.25}


def test_an_invalid_answer_is_a_failure() -> None:
    with serving(Answer(b'{"score": 2}')) as server:
        with pytest.raises(FailureError, match="outside 0"):
            scored(SAMPLE, url=server.url)
        assert scored(SAMPLE, url=server.url, score_range="any").values == {"score": 2.0}


def test_a_task_file_runs_no_command_without_trust() -> None:
    with pytest.raises(UsageError, match="--trust"):
        evaluator("mine", command=["true"], context=BuildContext())
    with pytest.raises(UsageError, match="--trust"):
        evaluator("mine", command=["true"])


def test_a_program_this_machine_lacks_refuses_the_task() -> None:
    with pytest.raises(FailureError, match="not found"):
        evaluator("mine", command=["no-such-program-anywhere"], context=TRUSTING)


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("command: [no-such-program-anywhere]", r"command: .*program not found on PATH"),
        ("url: http://127.0.0.1:9/score", r"url: .*cannot connect.*Is the server running\?"),
    ],
)
def test_an_evaluator_that_is_not_there_is_refused_before_a_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.jsonl").write_text('{"q": "1", "sum": "1"}\n')
    task = DECLARATIVE.format(python=sys.executable, url="").partition("    - type: evaluator")[0]
    task += f"    - {{type: normalized_exact_match, ground_truth: x}}\n    - type: evaluator\n      {field}\n"
    (tmp_path / "task.yaml").write_text(task)
    asked: list[str] = []
    with pytest.raises(UsageError, match=rf"task\.yaml:15:\d+: definition\.scorers\[1\]\.{says}"):
        evaluate("task.yaml", lambda prompt: asked.append(prompt) or "x")
    assert asked == []
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "none of them"),
        ({"command": ["a"], "url": "http://h/"}, "command and url"),
        ({"url": "nonsense"}, "http://"),
        ({"url": "http://h/", "score_range": "percent"}, "score range"),
        ({"model_key": "judge"}, "objective"),
        ({"url": "http://h/", "has_solver": False}, "a dataset task has none"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        evaluator("mine", **{"context": TRUSTING, **options})


def test_a_task_folder_with_an_evaluator_runs_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import json, sys; p = json.load(sys.stdin)\n"
    code += "print(json.dumps({'score': float(p['candidate'] in p['example']['targets'])}))"
    (tmp_path / "score.py").write_text(code, encoding="utf-8")
    lines: list[dict[str, Any]] = [
        {"id": f"q{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + 1 + n % 2)], "metric": "evaluator"}
        for n in range(4)
    ]
    lines[0]["extras"] = {"evaluator": {"command": [sys.executable, "score.py"]}}
    task = tmp_path / "sums.jsonl"
    task.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    result = run_evaluation(load_tasks([str(task)]), RunConfig(model="toy"), folder=tmp_path / "run")
    assert result.leaderboard.tasks[0].score == 0.5
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "score.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    with pytest.raises(UsageError, match="--trust"):
        run_evaluation(load_tasks([str(task)]), RunConfig(model="toy"), folder=tmp_path / "other")
    trusting = RunConfig(model="toy", trust=True)
    again = run_evaluation(load_tasks([str(task)]), trusting, folder=tmp_path / "trusted")
    assert again.leaderboard.tasks[0].score == 0.5


def test_a_declarative_task_with_evaluators_runs_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "import json, sys; p = json.load(sys.stdin)\n"
    code += "print(json.dumps({'score': float(p['candidate'] == p['example']['sum'])}))"
    (tmp_path / "score.py").write_text(code, encoding="utf-8")
    (tmp_path / "sums.jsonl").write_text('{"q": "compute: 1 + 1", "sum": "2"}\n{"q": "compute: 1 + 2", "sum": "4"}\n')
    with serving(Answer(b'{"score": 7.5, "scores": {"tone": 0.5}}')) as server:
        task = DECLARATIVE.format(python=sys.executable, url=server.url)
        (tmp_path / "task.yaml").write_text(task, encoding="utf-8")
        result = run_evaluation(load_tasks(["task.yaml"]), RunConfig(model="toy"), folder=tmp_path / "run")
    (row,) = result.leaderboard.tasks
    assert row.score == 0.5
    assert [received.payload["example"]["sum"] for received in server.received] in (["2", "4"], ["4", "2"])
    lines = [json.loads(line) for line in (tmp_path / "run" / "journal.jsonl").read_text().splitlines()]
    values = [(score["name"], score["values"]["score"]) for line in lines for score in line["scores"]]
    assert sorted(values) == [("command", 0.0), ("command", 1.0), ("service", 7.5), ("service", 7.5)]


@pytest.mark.parametrize(
    ("extras", "reason"),
    [
        ([{}, {}], ":1: extras.evaluator: required in the first"),
        ([{"evaluator": "http://h/"}, {}], ":1: extras.evaluator: required in the first"),
        (
            [{"evaluator": {"url": "http://h/"}}, {"evaluator": {"url": "http://other/"}}],
            ":2: extras.evaluator: is not",
        ),
    ],
)
def test_a_file_says_in_its_first_line_who_scores(tmp_path: Path, extras: list[Any], reason: str) -> None:
    task = tmp_path / "t.jsonl"
    lines = [
        {"id": str(n), "prompt": "p", "targets": [], "metric": "evaluator", "extras": extra}
        for n, extra in enumerate(extras)
    ]
    task.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(UsageError, match=reason):
        load_tasks([str(task)])
