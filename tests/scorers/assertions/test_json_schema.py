"""JSON Schema: the same answers as the reference implementation for what is checked, and a refusal of all else."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scorers.assertions.json_schema import conforms, same, unsupported

SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer"},
    {"type": ["number", "null"]},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    {"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": {"type": "null"}},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": True},
    {"enum": [1, "1", None, [1], {"a": 1}]},
    {"const": {"a": [1, 2.0]}},
    {"minimum": 0, "exclusiveMaximum": 3},
    {"multipleOf": 2},
    {"minLength": 1, "maxLength": 2, "pattern": "a"},
    {"anyOf": [{"type": "string"}, {"minimum": 2}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"allOf": [{"type": "number"}, {"not": {"const": 1}}]},
    {"minProperties": 1, "maxProperties": 1},
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 4)
    | st.sampled_from([0.5, 1.0, 2.0])
    | st.sampled_from(["", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "x", "xy"]), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
@given(value=values)
def test_it_agrees_with_the_reference_implementation(schema: dict[str, Any], value: Any) -> None:
    assert unsupported(schema) is None
    assert conforms(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"$ref": "#/x"}, r"`\$ref`"),
        ({"format": "email"}, "`format`"),
        ({"properties": {"a": {"if": {}}}}, "`if`"),
        ({"items": {"anyOf": [{"dependentRequired": {}}]}}, "`dependentRequired`"),
        ([], "a schema that is not an object but list"),
        ({"not": 3}, "a schema that is not an object but int"),
    ],
)
def test_what_is_not_checked_is_named_however_deep(schema: Any, said: str) -> None:
    import re

    assert re.search(said, unsupported(schema) or "")


def test_true_allows_everything_and_false_nothing() -> None:
    assert conforms({"any": 1}, True)
    assert not conforms(None, False)
    assert unsupported({"items": False}) is None


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        ([1], [1.0], True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ("1", 1, False),
    ],
)
def test_numbers_are_equal_by_value_and_true_is_none(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is same(other, one) is equal
