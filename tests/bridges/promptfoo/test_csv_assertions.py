"""The shorthand of `__expected` cells."""

from __future__ import annotations

from typing import Any

import pytest

from assay.bridges.promptfoo.csv_assertions import assertion_of_text


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("contains: Paris", {"type": "contains", "value": "Paris"}),
        ("not-contains-any: a, b", {"type": "not-contains-any", "value": ["a", "b"]}),
        ("is-json", {"type": "is-json"}),
        ("similar(0.9): hello", {"type": "similar", "value": "hello", "threshold": 0.9}),
        ("similar: hello", {"type": "similar", "value": "hello", "threshold": 0.8}),
        ("latency(2000)", {"type": "latency", "threshold": 2000.0}),
        ("grade: is polite", {"type": "llm-rubric", "value": " is polite"}),
        ("fn: output.length", {"type": "javascript", "value": "output.length"}),
        ("file://check.py:fits", {"type": "python", "value": "file://check.py:fits"}),
        ("unheard-of: x", {"type": "equals", "value": "unheard-of: x"}),
    ],
)
def test_a_cell_is_an_assertion(text: str, assertion: dict[str, Any]) -> None:
    assert assertion_of_text(text) == assertion
