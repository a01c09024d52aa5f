"""Later tasks and old spellings of tasks in YAML."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tasks.declarative.yaml_parts import DATASET_TASK, MODEL_TASK, definition, read, scorer, task

from assay.core.errors import UsageError
from assay.tasks.declarative.schema import (
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
