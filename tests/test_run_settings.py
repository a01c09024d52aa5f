"""The settings of a run: what a user can give stands on the command line too, and what is for every day is short."""

from __future__ import annotations

from assay.run_settings import RunSettings
from assay.setting import settings_of
from assay.tasks.task_settings import TaskSettings

FOR_PROGRAMS = {"only", "adaptive", "cache_by_default", "cache_reads", "cache_path"}
"""`--only` takes patterns and finds the ids; the others come from the project, from --fresh or from Python."""


def test_every_field_is_a_setting_with_a_flag_unless_it_is_for_programs() -> None:
    fields = settings_of(RunSettings)
    assert {*fields} == {*RunSettings.__struct_fields__}
    assert {name for name, field in fields.items() if field.flag is None} == FOR_PROGRAMS


def test_no_two_settings_have_one_flag() -> None:
    fields = [*settings_of(RunSettings).values(), *settings_of(TaskSettings).values()]
    flags = [field.flag.name for field in fields if field.flag is not None]
    assert len(flags) == len({*flags})


def test_what_a_short_help_would_show_is_short() -> None:
    fields = [*settings_of(RunSettings).values(), *settings_of(TaskSettings).values()]
    everyday = [field.name for field in fields if field.flag is not None and field.flag.everyday]
    assert {"limit", "temperature", "max_tokens", "budget_cost"} < {*everyday}
    assert len(everyday) < 15
