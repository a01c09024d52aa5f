"""The settings of a run: which of them a result depends on, and how many attempts they ask for."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.fingerprint import fingerprint
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.run_config import RunConfig, TaskOverrides
from assay.setting import Purpose, settings_of


def task_of(size: int) -> TaskDefinition:
    return TaskDefinition(
        name="t",
        format="spec_file",
        dataset=DatasetSpec(use="inline", size=size),
        solver=PartSpec(key="solver", use="single_turn"),
        scorers=(),
        aggregates=(),
        metric="m",
    )


CHANGES_A_RESULT = {
    "temperature": 0.5,
    "top_p": 0.9,
    "max_tokens": 7,
    "stop": ("\n",),
    "seed": 1,
    "logprobs": 2,
    "reasoning_effort": "low",
    "system": "Be brief.",
    "prefill": "It is",
    "keep_thinking": True,
    "too_long": "cut-left",
    "repeat": 2,
    "sandbox": "elsewhere",
    "limit": 3,
    "prompt": "polite",
    "cell": {"judge": "judge=mild"},
    "only": {"sums": ("s1",)},
    "of_tasks": {"sums": TaskOverrides(repeat=2)},
}
NAMED_ELSEWHERE = {"model", "model_options", "task_config"}
"""A run's fingerprint has the model and the tasks beside the settings, as they turn out."""


@pytest.mark.parametrize("name", CHANGES_A_RESULT)
def test_what_a_result_depends_on_is_part_of_the_identity(name: str) -> None:
    changed = RunConfig(**{name: CHANGES_A_RESULT[name]})  # type: ignore[arg-type]
    assert fingerprint(changed.identity()) != fingerprint(RunConfig().identity())


def test_the_identity_has_the_settings_that_are_for_the_result_and_no_others() -> None:
    fields = settings_of(RunConfig)
    assert {*fields} == {*RunConfig.__struct_fields__}
    assert {name for name, field in fields.items() if field.setting.purpose is Purpose.RESULT} == {*CHANGES_A_RESULT}
    assert {name for name, field in fields.items() if field.setting.purpose is Purpose.CHOICE} == NAMED_ELSEWHERE


def test_how_fast_how_patiently_and_where_to_is_not_part_of_the_identity() -> None:
    other: dict[type, object] = {int: 77, float: 77.0, bool: True, str: "other", tuple: ("other",), type(None): 77}
    changes = {
        field.name: other[type(field.default)]
        for field in msgspec.structs.fields(RunConfig)
        if field.name not in CHANGES_A_RESULT and field.name not in NAMED_ELSEWHERE
    }
    assert len(changes) > 15
    assert RunConfig(**changes).identity() == RunConfig().identity()  # type: ignore[arg-type]


@pytest.mark.parametrize(("limit", "attempts"), [(None, 30), (4, 12), (10, 30), (99, 30)])
def test_a_limit_never_asks_for_more_samples_than_there_are(limit: int | None, attempts: int) -> None:
    assert RunConfig(limit=limit, repeat=3).attempts_of(task_of(10)) == attempts


def test_a_config_survives_run_json() -> None:
    config = RunConfig(model="m", stop=("a", "b"), by=("x",), model_options={"k": [1]}, cache=False)
    assert msgspec.json.decode(msgspec.json.encode(config), type=RunConfig) == config


def test_what_a_limit_leaves_out_is_counted_with_the_repeat_of_the_task() -> None:
    config = RunConfig(model="m", limit=4, of_tasks={"t": TaskOverrides(repeat=3)})
    assert config.attempts_of(task_of(10)) + config.left_out_of(task_of(10)) == 30
