"""Assertions are answered yes or no, whatever a model wrote."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from assay.patterns.matching import PatternTimeoutError
from assay.scorers.assertions.assertion_list import holds
from assay.scorers.assertions.json_schema import unsupported

TEXTS = {
    'so: {"a": 1} it is': True,
    "{": False,
    "{x} and [y": False,
    "[" * 100_000 + ' {"a": 1}': True,
    "{" * 100_000: False,
    "{" * 3_000 + "}" * 3_000: True,
    "{ " * 100_000 + ' {"a": {"b": [[1]]}}': True,
    r'{"a": "\"}", "b": -1.5e3}': True,
    '{"a": NaN}': False,
    '{"a": 01}': False,
    '{"a' + "\n" + '": 1}': False,
    '{"a": 1,}': False,
    '{"a": 1, "b"}': False,
    "[1, 2]": False,  # a list is no object
    "{ }": True,
}


@pytest.mark.parametrize(("text", "contained"), TEXTS.items(), ids=map(str, range(len(TEXTS))))
def test_a_value_inside_a_text_is_found(text: str, contained: bool) -> None:
    assert holds(text, {"type": "contains-json"}) is contained


def test_a_text_that_begins_objects_endlessly_is_a_failure_and_no_verdict() -> None:
    with pytest.raises(PatternTimeoutError, match="begins too many JSON objects"):
        holds('{"a":' * 20_000, {"type": "contains-json"})


SCHEMAS: list[dict[str, Any]] = [
    {"type": ["object", "null"], "required": ["a"]},
    {"properties": {"a": {"type": "integer"}, "b": {"enum": [1, "x", None, [1, True]]}}, "additionalProperties": False},
    {"patternProperties": {"^a": {"minimum": 1, "maximum": 3}}, "additionalProperties": {"type": "string"}},
    {"items": {"anyOf": [{"const": 1}, {"minLength": 1, "maxLength": 1}]}, "minItems": 1, "uniqueItems": True},
    {"oneOf": [{"multipleOf": 2}, {"exclusiveMinimum": 2, "exclusiveMaximum": 5}], "type": "number"},
    {"not": {"contains": {"type": "boolean"}}, "maxItems": 2},
    {"allOf": [{"minProperties": 1}, {"maxProperties": 2}, {"propertyNames": {"pattern": "^[ab]$"}}, True]},
    {"type": "array", "contains": {"multipleOf": 0.5}},
]
VALUES: list[Any] = [
    None, True, False, 0, 1, 1.0, 2, 2.5, 4, 6, "", "x", "xy", [], [1], [1, 1.0], [True, 1], ["x", 1], [1, 2, 3],
    [0.25], {}, {"a": 1}, {"a": 1.0, "b": [1, True]}, {"a": 2.5, "b": [1, 1]}, {"b": 1.0}, {"a": 1, "b": None, "c": 3},
    {"ab": 4}, {"c": "x"}, {"a": "x"},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=map(str, range(len(SCHEMAS))))
def test_a_schema_is_checked_as_the_reference_implementation_checks_it(schema: dict[str, Any]) -> None:
    reference = jsonschema.Draft202012Validator(schema)
    assert unsupported(schema) is None
    for value in VALUES:
        assertion = {"type": "is-json", "value": schema}
        assert holds(json.dumps(value), assertion) is reference.is_valid(value), value


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"$ref": "#/x"}, "`$ref`"),
        ({"properties": {"a": {"format": "date"}}}, "`format`"),
        ({"items": [{"type": "string"}]}, "a schema that is not an object but list"),
        ({"anyOf": [{"type": "text"}]}, "type 'text'"),
        ({"multipleOf": 0}, "multipleOf 0"),
        ({"minimum": "a"}, "the bound 'a'"),
        ({"required": "a"}, "`required` that is not a list of names"),
    ],
)
def test_what_is_not_checked_is_named(schema: dict[str, Any], problem: str) -> None:
    assert unsupported(schema) == problem
