"""Later tasks and old spellings of tasks in YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_parts import DATASET_TASK, MODEL_TASK, definition, read, scorer, task

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_task,
)


def test_old_spellings_are_read_with_a_warning(tmp_path: Path) -> None:
    old = MODEL_TASK.replace("definition:\n", "evaluated_entity_type: model\ndefinition:\n  type: declarative_task\n")
    document = read(tmp_path, old)
    checked = checked_task(document, document.value)
    assert checked.definition["type"] == "benchmark_task"
    assert len(document.warnings) == 2

    mcqa = scorer("    - {type: string_equals_mcqa, ground_truth_choice_field: a, choices_field: c}\n")
    assert definition(tmp_path, mcqa).scorers[0].options["choices"] == "{{ sample.c }}"


def test_a_later_task_with_a_dataset_and_no_solver_is_about_the_dataset(tmp_path: Path) -> None:
    text = DATASET_TASK.replace("  evaluated_entity_type: dataset\n", "  dataset: {key: d}\n")
    document = read(tmp_path, text)
    assert checked_task(document, document.value).definition["evaluated_entity_type"] == "dataset"
    assert "read as a task about its dataset" in document.warnings[0]


def test_two_entity_types_that_disagree_are_refused(tmp_path: Path) -> None:
    text = DATASET_TASK.replace("definition:", "evaluated_entity_type: model\ndefinition:")
    with pytest.raises(UsageError, match="`model` here but `dataset`"):
        task(tmp_path, text)


@pytest.mark.parametrize("text", ["hello: 1\n", "key: a\ndisplay_name: b\nai_app: c\n"])
def test_a_file_of_no_kind_is_answered_with_the_kinds_that_there_are(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="none of the files that are read here: a task has `definition`, a run file"):
        task(tmp_path, text)


FORGOTTEN = "key: t\ndisplay_name: T\ndescription: d\ndefinition: {dataset: {key: d}, scorers: [SCORER]}\n"


@pytest.mark.parametrize(
    "scorer",
    [
        '{type: string_equals, ground_truth: "{{ sample.a }}"}',
        '{type: exact_match, ground_truth: "{{ sample.a }}"}',
        "{type: contains, value: a}",
        "{type: rag_checker, judge_model_key: j}",
        "{type: evaluator, model_key: j, objective: o}",
        '{type: labeler_via_model, model_key: j, user_prompt: "{{ model_output }}"}',
    ],
)
def test_a_task_about_a_model_that_forgets_its_solver_is_not_read_as_one_about_a_dataset(
    tmp_path: Path, scorer: str
) -> None:
    with pytest.raises(UsageError, match=r"task.yaml:4:\d+: definition.scorers\[0\].*: .*`solver`"):
        task(tmp_path, FORGOTTEN.replace("SCORER", scorer))


def test_a_scorer_of_answers_is_refused_where_no_solver_gives_one(tmp_path: Path) -> None:
    code = "def compute_scores(sample, solver_output): return {'a': 1}"
    text = FORGOTTEN.replace("SCORER", f'{{type: python, compute_scores_snippet: "{code}"}}')
    with pytest.raises(UsageError, match=r"`compute_scores\(sample, solver_output\)` is called with the sample alone"):
        task(tmp_path, text)
    assert task(tmp_path, text.replace("solver_output", "solver_output=None"))
