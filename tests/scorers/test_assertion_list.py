"""Assertions are answered yes or no, whatever a model wrote."""

from __future__ import annotations

import pytest

from assay.scorers.assertion_list import holds

TEXTS = {
    'so: {"a": 1} it is': True,
    "[": False,
    "{x} and [y": False,
    "[" * 100_000: False,  # each bracket tried by itself would take minutes
    "[" * 100_000 + ' {"a": 1}': True,
    "[" * 3_000 + "]" * 3_000: True,
    '{"a":' * 20_000: False,
    "[" * 900 + "1, " * 100_000: False,
    "[" * 900 + "1, " * 100_000 + "1]": True,
    r'["\"]", -1.5e3, null, {"a" : NaN}': True,
    '["a' + "\n" + '"]': False,
    "[01]": False,
    "[1,]": False,
    '{"a": 1, "b"}': False,
    "[ ]": True,
}


@pytest.mark.parametrize(("text", "contained"), TEXTS.items(), ids=map(str, range(len(TEXTS))))
def test_a_value_inside_a_text_is_found(text: str, contained: bool) -> None:
    assert holds(text, {"type": "contains-json"}) is contained
