"""How tasks are read is set by the same names for files, for runs and on the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

import assay
from assay.core.errors import UsageError
from assay.formats.task_source import SourceContext
from assay.runs.evaluate import EvaluationKeywords
from assay.setting import flag_of, settings_of
from assay.tasks.load import ReadingKeywords
from assay.tasks.task_settings import TaskSettings

BECOME_SHOTS = {"num_fewshot", "fewshot_as_turns"}
CHOOSES_FILES = {"tagged"}
FOR_ONE_SOURCE = {"source_options"}


def test_files_and_runs_take_every_setting() -> None:
    names = {*settings_of(TaskSettings)}
    assert names == {*get_type_hints(TaskSettings)}
    assert names < {*ReadingKeywords.__annotations__}
    assert names < {*EvaluationKeywords.__annotations__}


def test_a_source_is_given_every_setting_that_is_for_all_sources() -> None:
    given = {field.name for field in fields(SourceContext)}
    assert {*settings_of(TaskSettings)} - given == BECOME_SHOTS | CHOOSES_FILES | FOR_ONE_SOURCE


def test_a_bad_value_is_reported_by_the_name_of_its_flag() -> None:
    with pytest.raises(UsageError, match=f"{flag_of(TaskSettings, 'num_fewshot')} must be 0 or more, got -1"):
        assay.load_tasks("fixtures", num_fewshot=-1)
    with pytest.raises(UsageError, match=f"{flag_of(TaskSettings, 'dataset')} rows: no task here takes one"):
        assay.load_tasks("fixtures", dataset="rows")
