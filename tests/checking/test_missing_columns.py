"""A column that no sample has is found before a model is called, with the place of the template that reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.results.yaml_runs import ASKS, EQUALS, write_task

from assay.core.errors import UsageError
from assay.runs.entry import evaluate

ROWS = [{"q": "x", "label": "x"}, {"q": "y", "label": "y"}]
MISSPELT = {**EQUALS, "ground_truth": "{{ sample.lable }}"}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def asked_by(path: Path | str, **settings: Any) -> list[str]:
    """What is asked in a run that is refused."""
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return prompt

    with pytest.raises(UsageError, match=settings.pop("says")):
        evaluate(str(path), answer, **settings)
    assert not Path("runs").exists()
    return asked


def test_a_misspelt_column_of_a_scorer_is_refused_with_its_place(tmp_path: Path) -> None:
    path = write_task(tmp_path, ROWS, [MISSPELT])
    says = r"task\.yaml:1:\d+: definition\.scorers\[0\]\.ground_truth: `sample\.lable`: .* Did you mean `label`\?"
    assert asked_by(path, says=says) == []


def test_one_of_a_judges_prompt_is_refused(tmp_path: Path) -> None:
    labeler = {
        "key": "judge",
        "type": "labeler_via_model",
        "model_key": "toy",
        "user_prompt": "{{ solver_output.output }} {{ sample.lable }}",
        "valid_labels": ["yes", "no"],
    }
    assert asked_by(write_task(tmp_path, ROWS, [labeler]), says=r"scorers\[0\]\.user_prompt: `sample\.lable`") == []


def test_one_of_the_solver_is_refused(tmp_path: Path) -> None:
    solver = json.loads(json.dumps(ASKS).replace("sample.q", "sample.qq"))
    path = write_task(tmp_path, ROWS, [EQUALS | {"ground_truth": "{{ sample.label }}"}], solver=solver)
    assert asked_by(path, says=r"input_messages\[0\]\.content: `sample\.qq`") == []


def test_the_task_at_fault_is_the_one_whose_samples_lack_the_column(tmp_path: Path) -> None:
    one = json.loads(write_task(tmp_path, ROWS, [EQUALS | {"ground_truth": "{{ sample.label }}"}]).read_text())
    (tmp_path / "others.jsonl").write_text('{"q": "x", "a": "x"}\n')
    two = {**one, "key": "u", "definition": {**one["definition"], "dataset": {"key": "others"}}}
    path = tmp_path / "both.yaml"
    path.write_text(json.dumps({"tasks": [one, two]}, indent=1))
    asked_by(path, says=r"both\.yaml:\d+:\d+: tasks\[1\]\.definition\.scorers\[0\]\.ground_truth: `sample\.label`")


def test_what_some_samples_lack_is_a_failure_of_those_alone(tmp_path: Path) -> None:
    rows = [{"q": "x"}, {"q": "y", "a": "y"}, {"q": "z"}]
    [row] = evaluate(str(write_task(tmp_path, rows, [EQUALS])), lambda prompt: prompt).leaderboard.tasks
    assert (row.scored, row.failed) == (1, 2)


def test_the_columns_of_examples_are_their_own(tmp_path: Path) -> None:
    shots = {"examples": [{"question": "a", "answer": "b"}], "user": "{{ sample.question }}"}
    solver = {**ASKS, "few_shot": {**shots, "assistant": "{{ sample.answer }}"}}
    path = write_task(tmp_path, [{"q": "x", "a": "x"}], [EQUALS], solver=solver)
    assert evaluate(str(path), lambda prompt: "x").score == 1


def test_samples_are_read_only_until_one_has_every_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from assay.checking.missing_columns import refuse_missing_columns
    from assay.core.types import DatasetSpec, Sample

    read: list[int] = []

    def samples() -> Any:
        for number in range(10):
            read.append(number)
            yield Sample(id=str(number), prompt="", row={"q": "x"} if number < 3 else {"q": "x", "a": "y"})

    definition = SimpleNamespace(scorers=(), dataset=DatasetSpec(use="inline", options={"samples": []}))
    task: Any = SimpleNamespace(name="t", dataset=samples(), definition=definition)
    template: Any = SimpleNamespace(task="t", field="f", source="", columns=lambda: ["q", "a"])
    refuse_missing_columns([task], [template])
    assert read == [0, 1, 2, 3]
