"""A trace as plain data: every message as it was, and completions in the shape of a chat answer."""

from __future__ import annotations

import json

from assay.core.types import Completion, Message, Trace
from assay.snippets.payload import full_conversation, output_of, payload_of, solver_output

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_a_plain_prompt_is_the_two_messages_it_amounts_to() -> None:
    asked = Trace(prediction="4", prompt="2 + 2?")
    assert full_conversation(asked) == [
        {"role": "user", "content": "2 + 2?"},
        {"role": "assistant", "content": "4"},
    ]
    called = Trace(prediction="", completions=(Completion(text="", tool_calls=[CALL]),))
    assert full_conversation(called) == [{"role": "assistant", "content": "", "tool_calls": [CALL]}]


def test_a_conversation_is_kept_as_it_was_empty_contents_included() -> None:
    messages = (Message(role="user", content="hi"), Message(role="assistant", tool_calls=[CALL]))
    assert full_conversation(Trace(prediction="", messages=messages)) == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
    ]


def test_what_else_a_server_said_stands_where_existing_snippets_look_for_it() -> None:
    raw = {"references": [{"title": "Sums"}], "id": "x", "usage": {"total": 3}}
    data = output_of(Completion(text="4", raw=raw, tool_calls=[CALL], tokens_in=5))["data"]
    assert data["choices"][0]["references"] == [{"title": "Sums"}]
    assert data["choices"][0]["message"]["tool_calls"] == [CALL]
    assert (data["id"], data["usage"]) == ("x", {"total": 3})
    counted = output_of(Completion(text="4", tokens_in=5, tokens_out=1))["data"]["usage"]
    assert counted == {"num_prompt_tokens": 5, "num_completion_tokens": 1}


def test_the_payload_is_json_whatever_was_said() -> None:
    trace = Trace(prediction="é\u0000", messages=(Message(role="user", content=[{"type": "text", "text": "a"}]),))
    assert json.loads(json.dumps(payload_of(trace)))["prediction"] == "é\u0000"
    assert solver_output(trace).output == "é\u0000"
