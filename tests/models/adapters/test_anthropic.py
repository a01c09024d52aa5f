"""Anthropic's API gets everything in its own words."""

from __future__ import annotations

import pytest
from tests.models.adapters.vendors import FULL, sent

from assay.core.errors import FailureError
from assay.core.types import Message, Request


def test_everything_reaches_anthropic_in_its_own_words() -> None:
    assert sent("anthropic", FULL, extra={"metadata": {"user_id": "u"}}) == {
        "model": "m",
        "max_tokens": 9,
        "system": "be brief",
        "messages": [
            {"role": "user", "content": "compute: 1 + 1"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Bern"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "sunny"}]},
            {"role": "user", "content": "compute: 1 + 2"},
        ],
        "temperature": 0.0,
        "top_p": 0.5,
        "stop_sequences": ["Q:"],
        "tools": [{"name": "weather", "description": "d", "input_schema": {"type": "object"}}],
        "metadata": {"user_id": "u"},
    }


QUESTION = Message(role="user", content="compute: 1 + 1")
BEGUN = (QUESTION, Message(role="assistant", content="It is"))


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request(messages=(QUESTION, Message(role="assistant", content="It is "))), "end with whitespace"),
        (Request(messages=BEGUN, reasoning_effort="low"), "--prefill cannot be combined"),
        (Request(messages=(QUESTION,), reasoning_effort="low", temperature=0.0), "the temperature must be 1"),
        (Request(messages=(QUESTION,), reasoning_effort="high", top_p=0.5), "top_p at least 0.95"),
    ],
)
def test_what_the_api_would_refuse_is_reported_before_the_call(request_: Request, says: str) -> None:
    with pytest.raises(FailureError, match=says) as caught:
        sent("anthropic", request_)
    assert caught.value.failure.kind == "unsupported"


@pytest.mark.parametrize("effort", ["none", None])
def test_a_model_that_does_not_think_may_be_given_the_beginning_and_a_temperature(effort: str | None) -> None:
    body = sent("anthropic", Request(messages=BEGUN, reasoning_effort=effort, temperature=0.0))
    assert body["messages"][-1] == {"role": "assistant", "content": "It is"}
    assert "thinking" not in body
