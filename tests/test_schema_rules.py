"""Rules between fields say in JSON Schema what they are called."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft7Validator

from assay.schema_rules import Schema, absent, all_of, at_least_one, exactly_one, given, implies, is_one, of_type


@pytest.mark.parametrize(
    ("rule", "held", "broken"),
    [
        (given("a"), {"a": 1}, {"a": None}),
        (absent("a", "b"), {"a": None}, {"b": 1}),
        (exactly_one("a", "b"), {"a": 1, "b": None}, {"a": 1, "b": 1}),
        (at_least_one("a", "b"), {"a": 1, "b": 1}, {"c": 1}),
        (all_of(given("a"), given("b")), {"a": 1, "b": 1}, {"a": 1}),
        (implies(given("a"), given("b")), {"c": 1}, {"a": 1}),
        (is_one("a", ["x"]), {"a": "x"}, {"a": "y"}),
        (of_type("x"), {"type": "x"}, {"type": "y"}),
        (of_type("x"), {"$ref": "other.yaml"}, {}),
    ],
)
def test_a_rule_holds_or_is_broken(rule: Schema, held: dict[str, Any], broken: dict[str, Any]) -> None:
    validator = Draft7Validator(rule)
    assert validator.is_valid(held)
    assert not validator.is_valid(broken)
