"""A gold answer is made of what assertions say, and is proposed only where it holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assay.core.types import Sample
from assay.scorers.assertions.assertion_gold import example_of
from assay.scorers.assertions.assertion_list import AssertionList, holds
from assay.scorers.assertions.json_schema import conforms

LISTS: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{"type": "icontains", "value": "Rome"}, {"type": "starts-with", "value": ["It", "So"]}], "It Rome"),
    ([{"type": "contains-all", "value": "a, b"}], "a, b"),
    ([{"type": "equals", "value": 3.0}], "3"),
    ([{"type": "not-contains-json"}, {"type": "not-equals", "value": "an answer"}], ""),
    ([{"type": "contains", "value": "x"}, {"type": "not-contains", "value": "x"}], None),
    ([{"type": "regex", "value": "(?<=[x-z]{3})q"}], None),
    ([{"type": "regex", "value": "("}], None),
    ([{"type": "no-such-assertion"}], None),
]


@pytest.mark.parametrize(("asserted", "gold"), LISTS, ids=lambda case: str(case)[:40])
def test_a_text_of_which_all_hold(asserted: list[dict[str, Any]], gold: str | None) -> None:
    found = AssertionList("a").gold(Sample(id="1", prompt="q", extras={"assertions": asserted}))
    assert (None if found is None else found.text) == gold
    assert gold is None or all(holds(gold, each) for each in asserted)


def test_the_text_of_equals_is_the_gold_answer_though_the_others_forbid_it() -> None:
    asserted = [{"type": "equals", "value": "x"}, {"type": "not-contains", "value": "x"}]
    found = AssertionList("a").gold(Sample(id="1", prompt="q", extras={"assertions": asserted}))
    assert found is not None
    assert found.text == "x"


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
