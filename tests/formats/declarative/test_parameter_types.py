"""A type of parameter is said once: what its values are in JSON is what the check of values takes."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from assay.formats.declarative.config_spec import typed_config, value_problem
from assay.formats.declarative.parameter_types import PARAMETER_TYPES
from assay.formats.declarative.records import Parameter

JSON_TYPES = {"number": float, "integer": int, "boolean": bool, "string": str, "array": list, "object": dict}


def parameter(name: str, **fields: Any) -> Parameter:
    return Parameter(type=name, **{"key": "k", **fields})


@pytest.mark.parametrize("name", PARAMETER_TYPES)
def test_the_default_of_an_example_is_a_value_of_its_type(name: str) -> None:
    written = yaml.safe_load(f"{{{PARAMETER_TYPES[name].example}}}")
    default = written.get("default_value")
    made = parameter(name, value_dtype=written.get("value_dtype", "string"), allowed_values=("en", "de"))
    values = PARAMETER_TYPES[name].values
    assert default is None or value_problem(made, default) is None
    assert default is None or values is None or isinstance(default, JSON_TYPES[values])


@pytest.mark.parametrize("name", PARAMETER_TYPES)
def test_what_the_command_line_gives_is_text_where_the_values_are_texts(name: str) -> None:
    (given,) = typed_config({"k": "7"}, [parameter(name)]).values()
    texts = PARAMETER_TYPES[name].values in ("string", None)
    assert given == ("7" if texts else ["7"] if name == "list" else 7)
