"""Imports: convert tasks of other programs into task folders that run, and what is left behind is reported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.bridges.lm_eval.scripted_import import Script, run, write_sums

from assay.bridges.lm_eval.importer import import_lm_eval
from assay.core.errors import UsageError
from assay.formats.imported import write_imported


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    return write_sums(tmp_path)


def test_an_lm_eval_generation_task_asks_and_scores_as_it_did(sums: Path) -> None:
    found = import_lm_eval(sums / "task.yaml")
    write_imported(found, sums / "task.yaml", sums / "out")
    first = found.tasks["my_sums"][0]
    assert first["prompt"] == "Work it out.\n\nQuestion: 0 + 0?\nAnswer: 0\n\nQuestion: 1 + 1?\nAnswer:"
    model = Script({"Answer:": "So\n#### 1,000"})
    row = run(sums / "out", model)["my_sums"]
    assert row.score == pytest.approx(1 / 3)
    assert isinstance(row.per_example, list)
    assert row.per_example[2].answer == "1,000"
    assert (model.asked[0].stop, model.asked[0].max_tokens, model.asked[0].temperature) == (
        ("Question:", "</s>"),
        32,
        0.0,
    )


def test_what_has_no_part_in_the_score_is_listed(sums: Path) -> None:
    found = import_lm_eval(sums / "task.yaml")
    assert [sentence.partition(":")[0] for sentence in found.left_behind] == ["filter flexible", "metric bleu"]
    assert not found.losses


def test_nothing_extracted_has_its_own_count(sums: Path) -> None:
    write_imported(import_lm_eval(sums / "task.yaml"), sums / "task.yaml", sums / "out")
    row = run(sums / "out", Script({}))["my_sums"]
    assert (row.score, row.nothing_extracted) == (0.0, 3)


CHOICE = """
task: capitals
dataset_path: some/hub-dataset
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{choices}}"
doc_to_target: label
metric_list: [{metric: acc}, {metric: acc_norm}]
"""


def test_an_lm_eval_choice_task_is_scored_by_likelihood(tmp_path: Path) -> None:
    (tmp_path / "task.yaml").write_text(CHOICE)
    rows = [
        {"q": "France?", "choices": ["Rome", "Paris"], "label": 1},
        {"q": "Italy?", "choices": ["Rome", "Bern"], "label": 0},
    ]
    (tmp_path / "data.json").write_text(json.dumps({"rows": rows}))
    with pytest.raises(UsageError, match=r"some/hub-dataset.*--data FILE"):
        import_lm_eval(tmp_path / "task.yaml")
    found = import_lm_eval(tmp_path / "task.yaml", tmp_path / "data.json")
    write_imported(found, tmp_path / "task.yaml", tmp_path / "out")
    row = run(tmp_path / "out", Script({"France?": "Paris", "Italy?": "Bern"}))["capitals"]
    assert (row.score, row.metric) == (0.5, "choice_likelihood")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- a\n", "mapping of fields"),
        ("output_type: loglikelihood\n", "cannot be carried over"),
        ("task: t\ndataset_kwargs: {data_files: gone.jsonl}\n", "gone.jsonl does not exist"),
        ("task: t\ndataset_kwargs: {data_files: d.jsonl}\ndoc_to_text: '{{x}}'\ndoc_to_target: a\n", "does not fit"),
        ("task: t\ndataset_kwargs: {data_files: d.jsonl}\ndoc_to_text: !function u.f\ndoc_to_target: a\n", "u.f"),
        ("task: [", "not valid YAML"),
    ],
)
def test_a_bad_lm_eval_file_is_a_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "task.yaml").write_text(text)
    (tmp_path / "d.jsonl").write_text('{"a": "b"}')
    with pytest.raises(UsageError, match=says):
        import_lm_eval(tmp_path / "task.yaml")


def test_a_template_cannot_reach_python(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"a": "b"}')
    escape = "{{ a.__class__.__mro__[1].__subclasses__() }}"
    text = f"task: t\ndataset_kwargs: {{data_files: d.jsonl}}\ndoc_to_text: '{escape}'\ndoc_to_target: a\n"
    (tmp_path / "task.yaml").write_text(text)
    with pytest.raises(UsageError, match="does not fit"):
        import_lm_eval(tmp_path / "task.yaml")
