"""The schemas for editors agree with the checker, and the examples please both."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.formats.declarative.yaml_parts import EXAMPLES, MODEL_TASK, task

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    EDITOR_SCHEMAS,
    editor_schema,
    kind_of,
)
from assay.formats.declarative.yaml_reader import read_yaml


@pytest.mark.parametrize("kind", EDITOR_SCHEMAS)
def test_the_editor_schema_is_a_schema(kind: str) -> None:
    jsonschema.Draft7Validator.check_schema(editor_schema(kind))


@pytest.mark.parametrize(
    ("change", "valid"),
    [
        (("", ""), True),
        (("string_equals", "string_equal"), False),
        (("ground_truth", "groundtruth"), False),
        (("display_name: T", "display_name: 3"), False),
        (("type: single_turn_solver", "type: multi_turn_solver"), False),
    ],
)
def test_the_editor_schema_agrees_with_the_checker(tmp_path: Path, change: tuple[str, str], valid: bool) -> None:
    text = MODEL_TASK.replace(*change) if change[0] else MODEL_TASK
    errors = list(jsonschema.Draft7Validator(editor_schema("task")).iter_errors(yaml.safe_load(text)))
    assert (not errors) is valid
    if valid:
        task(tmp_path, text)
    else:
        with pytest.raises(UsageError):
            task(tmp_path, text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_please_the_editor_too(path: Path) -> None:
    value = read_yaml(path).value
    jsonschema.validate(value, editor_schema(kind_of(value)), cls=jsonschema.Draft7Validator)
