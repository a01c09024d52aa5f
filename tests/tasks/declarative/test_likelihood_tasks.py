"""Likelihood tasks written in YAML: the records and numbers that a task folder with the same content gives."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import yaml

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import Completion, Request
from assay.evaluation import run_evaluation
from assay.reports.board import TaskRow
from assay.tasks.build import build_task
from assay.tasks.check import check_task
from assay.tasks.declarative.schema import editor_schema
from assay.tasks.likelihood import generative_variant
from assay.tasks.load import load_tasks

ROWS = [
    {"q": "Is it?", "options": ["no", "certainly", "ja"], "right": "certainly"},
    {"q": "Was it?", "options": ["no", "certainly", "ja"], "right": "A"},
]
LOGPROBS = {" no": -2.0, " certainly": -3.0, " ja": -2.5}
WITHOUT_QUESTION = {" no": -1.0, " certainly": -9.0, " ja": -9.5}


class Reader:
    """Tells likelihoods from a table; a text costs half a nat per character."""

    name = "reader"
    scores_continuations = True

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        text = request.continuation
        if text is None:
            return Completion(text="B")
        table = LOGPROBS if request.text() else WITHOUT_QUESTION
        return Completion(text=text, logprob=table.get(text, -0.5 * len(text)), raw={"continuation_tokens": 3})


def choice_task(normalize: str = "raw") -> dict[str, Any]:
    return {
        "key": "choices",
        "display_name": "Choices",
        "description": "",
        "definition": {
            "dataset": {"key": "rows"},
            "solver": {
                "type": "choice_likelihood_solver",
                "prompt": "Question: {{ sample.q }}\nAnswer:",
                "choices": "{{ sample.options | tojson }}",
            },
            "scorers": [
                {"type": "choice_likelihood", "ground_truth_choice": "{{ sample.right }}", "normalize": normalize}
            ],
        },
    }


def text_task(**solver: Any) -> dict[str, Any]:
    return {
        "key": "texts",
        "display_name": "Texts",
        "description": "",
        "definition": {
            "dataset": {"key": "rows"},
            "solver": {"type": "text_likelihood_solver", "text": "{{ sample.q }}", **solver},
            "scorers": [{"type": "text_likelihood"}],
        },
    }


def write(folder: Path, task: dict[str, Any], rows: list[dict[str, Any]] = ROWS) -> Path:
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump(task))
    return path


def run(path: Path, model: Any, folder: str = "run") -> TaskRow:
    config = RunConfig(cache=False, retries=0)
    return run_evaluation(load_tasks([str(path)]), config, model=model, folder=path.parent / folder).leaderboard.tasks[
        0
    ]


@pytest.mark.parametrize(
    ("normalize", "score"), [("raw", 0.5), ("per_character", 0.5), ("per_byte", 0.5), ("unconditional", 0.0)]
)
def test_choices_are_scored_as_in_a_task_folder(tmp_path: Path, normalize: str, score: float) -> None:
    row = run(write(tmp_path, choice_task(normalize)), Reader())
    word = "choice_likelihood" if normalize == "raw" else f"choice_likelihood_{normalize}"
    lines = [
        {
            "id": str(n),
            "prompt": f"Question: {each['q']}\nAnswer:",
            "targets": [each["right"]],
            "metric": word,
            "extras": {"choices": each["options"]},
        }
        for n, each in enumerate(ROWS)
    ]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    twin = run(tmp_path / "folder" / "t.jsonl", Reader())
    assert row.score == twin.score == score
    assert (row.metric, row.scored) == ("accuracy", 2)
    first, second = (
        [(each.trace.prompt, each.trace.items, each.scores[0].values, each.scores[0].answer) for each in records]
        for records in (
            [record for record in read_records(place / "run" / "journal.jsonl") if record.trace]
            for place in (tmp_path, tmp_path / "folder")
        )
    )
    assert first == second


def test_two_scorers_compare_in_their_own_way(tmp_path: Path) -> None:
    task = choice_task("raw")
    task["definition"]["scorers"].append(
        {**task["definition"]["scorers"][0], "key": "gain", "normalize": "unconditional"}
    )
    model = Reader()
    row = run(write(tmp_path, task), model)
    assert {each.name: each.value for each in row.aggregates}["gain_mean_accuracy"] == 0.0
    assert row.score == 0.5
    assert len([request for request in model.asked if not request.text()]) == 6


def test_a_text_costs_bits_and_words(tmp_path: Path) -> None:
    model = Reader()
    row = run(write(tmp_path, text_task(window=64, stride=16)), model)
    assert row.metric == "bits_per_byte"
    assert row.score == pytest.approx(0.5 / math.log(2))
    assert row.lower_is_better
    assert row.aggregates[1].name == "word_perplexity"
    assert row.aggregates[1].value == pytest.approx(math.exp(0.5 * (6 + 7) / 4))
    assert [(request.text(), request.continuation, request.rolling) for request in model.asked] == [
        ("", "Is it?", (64, 16)),
        ("", "Was it?", (64, 16)),
    ]


def test_perplexity_may_be_the_number(tmp_path: Path) -> None:
    task = text_task(prompt="Say:")
    task["definition"]["scorers"][0]["metrics"] = [{"type": "perplexity", "unit": "token", "name": "ppl"}]
    row = run(write(tmp_path, task), Reader())
    assert (row.metric, row.score) == ("ppl", pytest.approx(math.exp(0.5 * (6 + 7) / 6)))
    assert row.lower_is_better


def test_a_model_that_can_only_write_is_refused_and_offered_the_letters(tmp_path: Path) -> None:
    path = write(tmp_path, choice_task())

    class Writer:
        name = "writer"

        async def generate(self, request: Request) -> Completion:
            assert "B. certainly" in request.text()
            return Completion(text="B")

    with pytest.raises(UsageError, match=r"writer can only write\. Add --generative"):
        run(path, Writer())
    assert not (tmp_path / "run").exists()
    definitions = [generative_variant(each) for each in load_tasks([str(path)])]
    board = run_evaluation(definitions, RunConfig(), model=Writer(), folder=tmp_path / "run").leaderboard
    assert (board.tasks[0].score, board.tasks[0].metric) == (0.5, "lettered_choice")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scorers": [{"type": "text_likelihood"}]}, "needs the solver `text_likelihood_solver`"),
        ({"scorers": []}, "needs a scorer of type `choice_likelihood`"),
        ({"scorers": [{"type": "choice_likelihood"}]}, "ground_truth_choice"),
        (
            {"scorers": [{"type": "choice_likelihood", "ground_truth_choice": "A", "normalize": "per_bite"}]},
            "Did you mean `per_byte`",
        ),
        ({"solver": {"type": "choice_likelihood_solver", "prompt": "{{ sample.q }}"}}, "needs the field `choices`"),
    ],
)
def test_what_does_not_go_together_is_told(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    task = choice_task()
    task["definition"] |= change
    with pytest.raises(UsageError) as caught:
        load_tasks([str(write(tmp_path, task))])
    assert says in str(caught.value)
    assert "task.yaml:" in str(caught.value)


def test_a_window_of_one_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="window must be a whole number of at least 2"):
        run(write(tmp_path, text_task(window=1)), Reader())


def test_an_editor_accepts_them() -> None:
    for task in (choice_task(), text_task(window=8)):
        jsonschema.validate(task, editor_schema("task"))
    wrong = choice_task()
    wrong["definition"]["solver"]["choises"] = wrong["definition"]["solver"].pop("choices")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, editor_schema("task"))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (ROWS[0], None),
        ({**ROWS[0], "right": "perhaps"}, "not among the choices"),
        ({**ROWS[0], "options": "no list"}, "expected a list of choices"),
        ({"q": "?", "right": "A"}, "options"),
    ],
)
def test_it_is_checked_without_a_model(tmp_path: Path, row: dict[str, Any], says: str | None) -> None:
    (definition,) = load_tasks([str(write(tmp_path, choice_task(), [row]))])
    found = asyncio.run(check_task(build_task(definition)))
    assert found.gold_checked == 1
    if says is None:
        assert not found.findings
    else:
        assert says in found.findings[0].detail
        assert found.findings[0].problem == "gold_failed"


def test_a_sample_that_fails_names_its_field(tmp_path: Path) -> None:
    path = write(tmp_path, choice_task(), [{"q": "?", "right": "A"}])
    row = run(path, Reader())
    assert (row.failed, row.score) == (1, None)
    (record,) = read_records(tmp_path / "run" / "journal.jsonl")
    assert "definition.solver.choices" in msgspec.json.encode(record.failures).decode()
