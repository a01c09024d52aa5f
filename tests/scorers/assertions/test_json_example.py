"""An example of a schema conforms to it, and ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.scorers.assertions.json_example import example_of
from assay.scorers.assertions.json_schema import conforms

SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "minLength": 4}}},
    {"type": "array", "items": {"type": "number", "exclusiveMinimum": 2}, "minItems": 3},
    {"type": ["integer", "null"], "maximum": -5},
    {"anyOf": [{"type": "boolean"}, {"const": 4}]},
    {"enum": ["red", "blue"]},
    {"properties": {"id": {"type": "string", "pattern": r"^ID-\d+$"}}, "additionalProperties": False},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=json.dumps)
def test_an_example_of_a_simple_schema_conforms(schema: dict[str, Any]) -> None:
    assert conforms(example_of(schema), schema)


def test_no_schema_makes_an_endless_example() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        schema = {"type": "array", "items": schema, "minItems": 1_000_000}
    assert len(json.dumps(example_of(schema))) < 1_000_000
