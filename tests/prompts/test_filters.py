"""Filters: the measured table, with its surprises."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.prompts.filters import Filter, FilterError

ROW = {"n": 3, "text": "x", "number_text": "3", "yes": True, "null": None, "list": [1], "true_text": "true"}


def holds(op: str, expression: str, **operand: Any) -> bool:
    return Filter({"op": op, "expression": expression, **operand}).matches({"sample": ROW, **ROW})


@pytest.mark.parametrize(
    ("op", "expression", "operand", "expected"),
    [
        ("equals", "{{ sample.n }}", {"value": 3}, True),
        ("equals", "{{ sample.n }}", {"value": 3.0}, True),
        ("equals", "{{ sample.n }}", {"value": "3"}, True),  # texts are compared when one side is text
        ("equals", "{{ sample.number_text }}", {"value": "3"}, True),  # "3" was read as 3
        ("equals", "{{ sample.number_text }}", {"value": 3}, True),
        ("equals", "{{ sample.text }}", {"value": "x"}, True),
        ("equals", "{{ sample.yes }}", {"value": True}, True),
        ("equals", "{{ sample.true_text }}", {"value": True}, False),  # "true" stays text
        ("not_equals", "{{ sample.n }}", {"value": 4}, True),
        ("not_equals", "{{ sample.text }}", {"value": "x"}, False),
        ("greater_than", "{{ sample.n }}", {"value": 2}, True),
        ("greater_than", "{{ sample.n }}", {"value": 3}, False),
        ("greater_or_equal", "{{ sample.n }}", {"value": 3}, True),
        ("less_than", "{{ sample.number_text }}", {"value": 4}, True),
        ("less_or_equal", "{{ sample.yes }}", {"value": 1}, True),  # a truth value is a number here
        ("in", "{{ sample.n }}", {"values": [3.0, 6.0]}, True),
        ("in", "{{ sample.n }}", {"values": ["3", "6"]}, True),
        ("in", "{{ sample.text }}", {"values": []}, False),
        ("not_in", "{{ sample.text }}", {"values": ["y"]}, True),
        ("exists", "{{ sample.null }}", {}, True),  # null exists
        ("exists", "{{ sample.missing }}", {}, False),
        ("not_exists", "{{ sample.missing }}", {}, True),
        ("not_exists", "{{ sample.null }}", {}, False),
        ("exists", "{{ sample.missing.deeper }}", {}, False),
        ("is_true", "{{ sample.yes }}", {}, True),
        ("is_false", "{{ sample.yes }}", {}, False),
        ("is_true", "{{ sample.n > 2 and sample.text == 'x' }}", {}, True),
        ("equals", "n", {"value": 3}, True),  # an expression without braces is still an expression
        ("equals", "{{ n }}", {"value": 3}, True),  # columns by their bare names
        ("equals", "{{ sample.list }}", {"value": "[1]"}, True),
    ],
)
def test_filters(op: str, expression: str, operand: dict[str, Any], expected: bool) -> None:
    assert holds(op, expression, **operand) is expected


@pytest.mark.parametrize(
    ("op", "expression", "operand", "says"),
    [
        ("greater_than", "{{ sample.text }}", {"value": 1}, "compares numbers"),
        ("greater_than", "{{ sample.n }}", {"value": "1"}, "compares numbers"),
        ("is_true", "{{ sample.n }}", {}, "needs true or false"),
        ("is_true", "{{ sample.true_text }}", {}, "needs true or false"),
        ("is_false", "{{ sample.null }}", {}, "needs true or false"),
        ("equals", "{{ sample.missing }}", {"value": 1}, "unknown field"),
        ("in", "{{ sample.missing }}", {"values": [1]}, "unknown field"),
        ("exists", "{{ ('a' * 40 ~ '!') | regex_replace('(a+)+$', '') }}", {}, "took more than"),
        ("equals", "{{ ''.__class__ }}", {"value": 1}, "not allowed"),
    ],
)
def test_a_filter_that_cannot_answer_says_why(op: str, expression: str, operand: dict[str, Any], says: str) -> None:
    with pytest.raises(FilterError, match=says):
        holds(op, expression, **operand)


def test_a_filter_that_makes_no_sense_is_refused_when_built() -> None:
    with pytest.raises(UsageError, match="unknown filter operator"):
        Filter({"op": "like", "expression": "x"})
    with pytest.raises(UsageError, match="needs `values`"):
        Filter({"op": "in", "expression": "x", "value": 1})
