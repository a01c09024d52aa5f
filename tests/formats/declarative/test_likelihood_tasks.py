"""Likelihood tasks written in YAML: the records and numbers that a task folder with the same content gives."""

from __future__ import annotations

import json
import math
from pathlib import Path

import jsonschema
import pytest
from tests.tasks.likelihood_tasks import ROWS, Reader, choice_task, run, text_task, write

from assay.core.journal import read_records
from assay.formats.declarative.checked import editor_schema


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


def test_an_editor_accepts_them() -> None:
    for task in (choice_task(), text_task(window=8)):
        jsonschema.validate(task, editor_schema("task"))
    wrong = choice_task()
    wrong["definition"]["solver"]["choises"] = wrong["definition"]["solver"].pop("choices")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, editor_schema("task"))
