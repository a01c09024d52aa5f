"""Assertions about the tools that an answer calls. The scores are those of promptfoo 0.121.20."""

from __future__ import annotations

from typing import Any

import pytest

from assay.scorers.assertions.tool_call_assertions import called_tools, tool_call_f1


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (calls("a", "b"), {"a", "b"}),
        ({"content": "x", "tool_calls": calls("a", "a", "c")}, {"a", "c"}),
        ({"tool_calls": [{"name": "b", "function": {"name": "a"}}, 3]}, {"a", "b"}),
        ([{"type": "text", "text": "x"}, {"type": "tool_use", "name": "b"}], {"b"}),
        ({"type": "tool_use", "name": "a", "input": {}}, {"a"}),
        ([{"functionCall": {"name": "c"}}, {"functionCall": {}}], {"c"}),
        ({"toolCall": {"functionCalls": [{"name": "a"}, None]}}, {"a"}),
        ({"name": "a"}, set()),
        ("no call", set()),
        ('{"tool_calls": [{"function": {"name": "a"}}]}', {"a"}),
        ('Hello\n{"type": "tool_use", "name": "b"}\n  [{"name": "c"}]\n{broken', {"b", "c"}),
        (None, set()),
    ],
)
def test_tools_are_found_in_every_vendors_shape(output: Any, names: set[str]) -> None:
    assert set(called_tools(output)) == names


@pytest.mark.parametrize(
    ("output", "wanted", "score"),
    [
        (calls("a", "b"), ["a", "b"], 1.0),
        (calls("a", "b"), "b, a", 1.0),
        (calls("a", "b"), ["a", "b", "c"], 0.8),
        (calls("a", "b", "c", "d", "e"), "a", 1 / 3),
        (calls("a"), ["b"], 0.0),
        ("no call", ["a"], 0.0),
    ],
)
def test_the_score_is_f1_over_sets_of_names(output: Any, wanted: Any, score: float) -> None:
    assert tool_call_f1(output, wanted) == pytest.approx(score, abs=1e-15)
