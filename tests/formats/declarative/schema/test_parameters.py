"""Parameters of a task: placeholders stand for any value until the configuration is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_parts import MODEL_TASK, definition, scorer, task

from assay.core.errors import UsageError


def test_placeholders_stand_for_any_value_until_the_configuration_is_known(tmp_path: Path) -> None:
    text = (
        scorer(
            "    - {type: model_as_a_judge_scorer, model_key: << config.m >>, user_prompt: x,"
            " score_max: << config.top >>}\n"
        )
        .replace("<< config.m >>", '"<< config.m >>"')
        .replace("<< config.top >>", '"<< config.top >>"')
        .replace(
            "definition:",
            "config_spec: [{type: model, key: m, display_name: M}, {type: int, key: top, display_name: T}]"
            "\ndefinition:",
        )
    )
    assert "'score_max': '<< config.top >>'" in str(task(tmp_path, text).definition)
    with pytest.raises(UsageError, match="expected a number"):
        definition(tmp_path, text)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (("key: t", 'key: "<< config.x >>"'), "key: `<< config.x >>` does not match"),
        (("display_name: T", 'display_name: T\ntags: "<< config.x >>"'), "tags: expected a list"),
        (("display_name: T", 'display_name: T\nconfig_spec: "<< config.x >>"'), "config_spec: expected a list"),
        (
            (
                "display_name: T",
                'display_name: T\nconfig_spec: [{type: int, key: n, display_name: N, min: "<< config.x >>"}]',
            ),
            r"config_spec\[0\].min: expected a number",
        ),
    ],
)
def test_only_the_definition_is_configured(tmp_path: Path, change: tuple[str, str], field: str) -> None:
    with pytest.raises(UsageError, match=field):
        task(tmp_path, MODEL_TASK.replace(*change))


@pytest.mark.parametrize(
    "text",
    [
        MODEL_TASK.split("  scorers:", maxsplit=1)[0] + '  scorers: "<< config.x >>"\n',
        MODEL_TASK + '      metrics: "<< config.x >>"\n',
        MODEL_TASK + '  actions: "<< config.x >>"\n',
    ],
)
def test_a_whole_list_may_be_a_placeholder_until_it_is_known(tmp_path: Path, text: str) -> None:
    spec = "config_spec: [{type: list, key: x, display_name: X, dtype: string}]\ndefinition:"
    text = text.replace("definition:", spec)
    task(tmp_path, text)
    with pytest.raises(UsageError, match=r"expected a list, got the text `<< config\.x >>`"):
        definition(tmp_path, text)
