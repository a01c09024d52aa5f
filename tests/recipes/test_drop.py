"""DROP: every annotator's answer counts, whether it is a number, spans or a date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.recipes.shapes import drop, tasks_made

from assay.recipes.drop import _answers, _questions
from assay.recipes.sources import Sources


@pytest.mark.parametrize("variant", ["few-shot", "chat", "lm-eval"])
def test_answers_are_numbers_spans_and_dates(variant: str, tmp_path: Path) -> None:
    [task] = tasks_made("drop", tmp_path, variant=variant)
    first, second, third = task.dataset
    assert first.extras["answers"] == [["3"], ["three"]]
    assert second.extras["answers"] == [["the Bears", "Jets, Inc."]]
    assert third.extras["answers"] == [["12 May 1998"]]
    assert [sample.metadata["answer_type"] for sample in task.dataset] == ["number", "spans", "date"]


def test_few_shot_examples_stand_before_the_passage(tmp_path: Path) -> None:
    [task] = tasks_made("drop", tmp_path)
    prompt = next(iter(task.dataset)).prompt
    assert prompt.count("Passage: ") == 2
    assert "Question: Which, 0?\nAnswer: 3\n\n" in prompt
    assert prompt.endswith("Question: Which, 0?\nAnswer:")


def test_rows_of_the_hub_hold_the_annotators_in_columns(tmp_path: Path) -> None:
    none = {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": []}
    others = {"number": ["4", ""], "date": [none["date"]] * 2, "spans": [[], ["four", "men"]]}
    row = {"passage": "p", "question": "q", "query_id": "1", "answer": {**none, "number": "4"}}
    (tmp_path / "validation.jsonl").write_text(json.dumps({**row, "validated_answers": others}))
    [(passage, question)] = _questions(Sources(tmp_path, {}, accept_unknown=True), "validation.jsonl")
    assert (passage, _answers(question)) == ("p", [["4"], ["four", "men"]])


def test_an_unanswered_question_is_left_out(tmp_path: Path) -> None:
    data = json.loads(drop())
    data["nfl_1"]["qa_pairs"][0]["answer"]["number"] = ""
    data["nfl_1"]["qa_pairs"][0]["validated_answers"] = []
    (tmp_path / "drop_dataset_dev.json").write_text(json.dumps(data))
    [(_, question), *_] = _questions(Sources(tmp_path, {}, accept_unknown=True), "drop_dataset_dev.json")
    assert _answers(question) == []
