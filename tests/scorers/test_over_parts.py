"""A postprocessor takes answers apart: every part is scored by itself, and the sample stays what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.yaml_runs import ASKS, only, run_task, write_task

from assay.cli.main import main
from assay.results.board.board_types import Leaderboard

SPLITS = """\
def postprocess(sample, solver_output):
    answers = str(solver_output.output).split("---")
    if len(answers) != len(sample["targets"]):
        raise ValueError(f"{len(answers)} answers")
    return [({"target": target}, answer.strip()) for target, answer in zip(sample["targets"], answers)]
"""
TRACES = """\
from latticeflow.core.dtypes import ChatCompletionModelOutput, ChatCompletionModelOutputChoice
from latticeflow.core.dtypes import ChatCompletionOutputMessage, Message, MessageRole, MessageStatus
from latticeflow.core.dtypes import ModelResponse, OutputTextContent, RawSample, SolverOutput, SolverTrace, Trace

async def postprocess(sample: RawSample, solver_output: SolverOutput) -> list[tuple[RawSample, SolverOutput]]:
    found = []
    for target, answer in zip(sample["targets"], solver_output.output.choices[0].message.content.split("---")):
        message = ChatCompletionOutputMessage(role="assistant", content=answer.strip())
        output = ChatCompletionModelOutput(choices=[ChatCompletionModelOutputChoice(message=message)])
        text = OutputTextContent(text=answer.strip(), annotations=[])
        item = Message(id="", status=MessageStatus.completed, role=MessageRole.assistant, content=[text])
        trace = SolverTrace(trace=Trace.from_items([]), raw_outputs=[])
        trace.append_user_message("?")
        trace.add_model_response(ModelResponse(raw_output=output, items=[item]))
        trace.direct_ios = solver_output.direct_ios
        found.append(({"target": target}, trace))
    return found
"""
WHOLE = "def postprocess(sample, solver_output):\n    return [({**sample, 'target': 'A B'}, solver_output)]\n"
ROWS = [
    {"sample_id": "both", "q": "Paris --- 東京", "targets": ["Paris", "東京"]},
    {"sample_id": "one", "q": "Paris --- x", "targets": ["Paris", "東京"]},
    {"sample_id": "three", "q": "x --- x --- 東京", "targets": ["Paris", "Rome", "東京"]},
]
EQUALS = {"key": "main", "type": "string_equals", "ground_truth": "{{ sample.target }}"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def solver(source: str) -> dict[str, Any]:
    return {**ASKS, "postprocessor": {"type": "python", "postprocess_snippet": source}}


def run(folder: Path, source: str, scorers: list[dict[str, Any]], rows: Any = ROWS, **config: Any) -> Leaderboard:
    return run_task(write_task(folder, rows, scorers, solver=solver(source)), **config)


def records(folder: Path) -> dict[str, Any]:
    lines = (folder / "run" / "journal.jsonl").read_text().splitlines()
    return {(record := json.loads(line))["sample_id"]: record for line in lines}


@pytest.mark.parametrize("source", [SPLITS, TRACES], ids=["texts", "traces"])
def test_a_sample_has_the_mean_of_its_parts(tmp_path: Path, source: str) -> None:
    row = only(run(tmp_path, source, [EQUALS]))
    assert row.score == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert (row.total, row.failed) == (3, 0)
    (score,) = records(tmp_path)["one"]["scores"]
    assert score["values"] == {"is_correct": 0.5}
    assert [part["answer"] for part in score["metadata"]["parts"]] == ["Paris", "x"]
    assert [part["values"]["is_correct"] for part in score["metadata"]["parts"]] == [True, False]
    assert records(tmp_path)["one"]["trace"]["prediction"] == "Paris --- x"


def test_one_part_is_scored_as_it_is(tmp_path: Path) -> None:
    assert only(run(tmp_path, WHOLE, [EQUALS], [{"q": "A B"}, {"q": "C"}])).score == 0.5
    (score,) = records(tmp_path)["0"]["scores"]
    assert score["values"] == {"is_correct": True}


def test_code_that_raises_about_an_answer_fails_the_attempt_and_no_other(tmp_path: Path) -> None:
    row = only(run(tmp_path, SPLITS, [EQUALS], [*ROWS[:1], {"sample_id": "odd", "q": "a", "targets": ["a", "b"]}]))
    assert (row.score, row.failed) == (1.0, 1)
    (failure,) = records(tmp_path)["odd"]["failures"]
    assert (failure["stage"], failure["part"], failure["kind"]) == ("solver", "postprocessor", "exception")
    assert failure["message"] == "ValueError: 1 answers (line 4 of the snippet)"


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("[]", "at least one pair"),
        ("{'a': 1}", "must return a list of pairs"),
        ("[({}, )]", "must return a list of pairs"),
        ("[(1, 'x')]", "mappings as samples"),
        ("[({}, 3)]", "traces, outputs or texts"),
    ],
)
def test_what_is_not_a_list_of_pairs_is_a_failure(tmp_path: Path, returned: str, message: str) -> None:
    source = f"def postprocess(sample, solver_output):\n    return {returned}\n"
    assert only(run(tmp_path, source, [EQUALS], ROWS[:1])).failed == 1
    assert message in records(tmp_path)["both"]["failures"][0]["message"]


def test_texts_of_several_parts_are_no_value_of_a_sample(tmp_path: Path) -> None:
    own = {
        "key": "own",
        "type": "python",
        "compute_scores_snippet": "def compute_scores(sample, solver_output):\n    return {'label': 'a'}\n",
        "metrics": [{"type": "frequency", "field": "label"}],
    }
    assert only(run(tmp_path, SPLITS, [own], ROWS[:1])).failed == 1
    assert "`label` is a text" in records(tmp_path)["both"]["failures"][0]["message"]


def test_every_scorer_and_judge_sees_the_parts(tmp_path: Path) -> None:
    judge = {
        "key": "judged",
        "type": "model_as_a_judge_classifier",
        "model_key": "stub",
        "user_prompt": "{{ sample.target }} {{ solver_output.output }}",
        "correct_labels": [""],
        "incorrect_labels": ["no"],
    }
    listed = {"key": "listed", "type": "contains", "value": "{{ sample.target }}"}
    path = write_task(tmp_path, ROWS[:2], [EQUALS, judge, listed], solver=solver(SPLITS))
    (tmp_path / "yes.py").write_text("def man(prompt):\n    return 'no'\n\ndef echo(prompt):\n    return prompt\n")
    assert main(["run", str(path), "--model-for", "stub=yes:man", "--run-dir", "run", "--model", "yes:echo"]) == 0
    found = {score["name"]: score for score in records(tmp_path)["one"]["scores"]}
    assert found["listed"]["values"] == {"score": 0.5, "passed": 0.5}
    prompts = [part["metadata"]["judge"]["prompt"][1]["content"] for part in found["judged"]["metadata"]["parts"]]
    assert prompts == ["Paris Paris", "東京 x"]


def test_check_tries_it_and_says_where_it_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = solver("def postprocess(sample, solver_output):\n    return [(sample['targts'], 'x')]\n")
    write_task(tmp_path, ROWS, [EQUALS], solver=wrong)
    capsys.readouterr()
    assert main(["check", "task.yaml"]) == 2
    said = capsys.readouterr()
    assert "definition.solver.postprocessor.postprocess_snippet" in said.out + said.err
    assert "KeyError: 'targts'" in said.out + said.err
    write_task(tmp_path, ROWS, [EQUALS], solver=solver(SPLITS))
    assert main(["check", "task.yaml"]) == 0  # an answer that was made up may have too few parts


def test_validate_wants_the_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path, ROWS, [EQUALS], solver=solver("def process(sample):\n    return []\n"))
    assert main(["validate", "task.yaml"]) == 2
    assert "must define a function `postprocess`" in capsys.readouterr().out


def test_rescore_takes_answers_apart_again(tmp_path: Path) -> None:
    run(tmp_path, SPLITS, [EQUALS])
    strict = SPLITS.replace("answer.strip()", "answer.strip().lower()")
    write_task(tmp_path, ROWS, [EQUALS], solver=solver(strict))
    assert main(["rescore", "run", "task.yaml", "--run-dir", "again", "--quiet"]) == 0
    assert json.loads(Path("again/leaderboard.json").read_text())["tasks"][0]["score"] == pytest.approx(
        (0.5 + 1 / 3) / 3
    )


def test_a_stranger_s_postprocessor_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    path = write_task(tmp_path / "downloads", ROWS, [EQUALS], solver=solver("open('ran', 'w')\n" + SPLITS))
    monkeypatch.chdir(inside)
    assert main(["run", str(path)]) == 2
    assert "postprocess_snippet" in capsys.readouterr().err
    assert not (inside / "ran").exists()
