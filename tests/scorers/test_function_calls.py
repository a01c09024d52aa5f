"""`function_call_coverage`: the measured table, with its surprises."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.scripted import Context

from assay.core.errors import FailureError
from assay.core.types import Message, Sample, Score, Trace
from assay.scorers.function_calls import FunctionCallCoverage


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": name, "arguments": json.dumps(arguments)}


USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}


def cover(required: Any, *items: dict[str, Any], mode: str = "any_order", template: str | None = None) -> Score:
    trace = Trace(prediction="", items=list(items))
    scorer = FunctionCallCoverage(
        "f", function_calls=template or "{{ sample.calls | tojson }}", mode=mode, context=Context()
    )
    return asyncio.run(scorer(Sample(id="1", row={"calls": required}), trace))


@pytest.mark.parametrize(
    ("required", "items", "values"),
    [
        ([], [USER], (True, 1.0, 0, 0, 0, 0)),  # nothing required: full coverage
        (["a"], [USER, call("a")], (True, 1.0, 1, 0, 0, 1)),
        (["a", "b"], [USER, call("b")], (False, 0.5, 1, 1, 0, 2)),
        (["a"], [call("a"), USER], (False, 0.0, 0, 1, 0, 1)),  # the preamble does not count
        (["a", "a"], [USER, call("a")], (False, 0.5, 1, 1, 0, 2)),  # each call is used once
        (["a", "a"], [USER, call("a"), call("a")], (True, 1.0, 2, 0, 0, 2)),
        ([{"name": "a", "arguments": {"x": 1}}], [USER, call("a", x=1)], (True, 1.0, 1, 0, 0, 1)),
        ([{"name": "a", "arguments": {"x": 1}}], [USER, call("a", x=2)], (False, 0.0, 0, 1, 1, 1)),
        # entries with arguments choose first, so the bare name does not take their call away
        (["a", {"name": "a", "arguments": {"x": 1}}], [USER, call("a", x=1), call("a")], (True, 1.0, 2, 0, 0, 2)),
        (["a"], [USER, call("a"), call("b"), call("c")], (True, 1.0, 1, 0, 2, 1)),
    ],
)
def test_coverage(required: Any, items: list[dict[str, Any]], values: tuple[Any, ...]) -> None:
    found = cover(required, *items).values
    assert (
        found["all_required_calls_made"],
        found["required_calls_coverage"],
        found["num_required_calls_made"],
        found["num_required_calls_not_made"],
        found["num_unrequired_calls"],
        found["num_required_calls_total"],
    ) == values


def test_in_order_the_list_must_be_a_subsequence() -> None:
    items = [USER, call("b"), call("a"), call("c")]
    assert cover(["a", "b"], *items).values["all_required_calls_made"] is True
    assert cover(["a", "b"], *items, mode="in_order").values["all_required_calls_made"] is False
    assert cover(["b", "c"], *items, mode="in_order").values["all_required_calls_made"] is True


def test_a_real_list_works_with_and_without_tojson_and_as_json_text() -> None:
    items = [USER, call("a")]
    for template, required in (("{{ sample.calls }}", ["a"]), ("{{ sample.calls }}", '["a"]'), (None, ["a"])):
        assert cover(required, *items, template=template).values["all_required_calls_made"] is True


def test_calls_of_a_chat_answer_count_too() -> None:
    tool_call = {"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"x": 1}'}}
    trace = Trace(
        prediction="",
        messages=(Message(role="user", content="go"), Message(role="assistant", content="", tool_calls=[tool_call])),
    )
    scorer = FunctionCallCoverage("f", function_calls='[{"name": "a", "arguments": {"x": 1}}]')
    assert asyncio.run(scorer(Sample(id="1", row={}), trace)).values["all_required_calls_made"] is True


def test_the_metadata_shows_what_was_wanted_and_made() -> None:
    found = cover(["a", "b"], USER, call("a", x=1)).metadata
    assert found == {
        "required": ["a", "b"],
        "called": [{"name": "a", "arguments": {"x": 1}}],
        "matched": ["a"],
        "unmatched": ["b"],
    }


@pytest.mark.parametrize("required", ["a", "3", [3], [{"arguments": {}}]])
def test_a_list_that_is_none_is_a_failure(required: Any) -> None:
    with pytest.raises(FailureError, match="expected a list of names"):
        cover(required, USER)


@pytest.mark.parametrize("arguments", ["[" * 50_000 + "]" * 50_000, "9" * 6_000, "{x"])
def test_unreadable_arguments_are_a_wrong_call_and_no_failure(arguments: str) -> None:
    # or a model could trade a wrong answer for one that does not count
    made = {**call("a"), "arguments": arguments}
    score = cover([{"name": "a", "arguments": {"x": 1}}], USER, made)
    assert score.values["all_required_calls_made"] is False
