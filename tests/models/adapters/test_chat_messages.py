"""Messages as chat servers take them, and arguments of tool calls as models write them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay.core.types import Message
from assay.models.adapters.chat_messages import call_arguments, message_body, vendor_state, with_vendor_state

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (Message(role="assistant"), {"role": "assistant", "content": ""}),
        (Message(role="assistant", tool_calls=[CALL]), {"role": "assistant", "content": None, "tool_calls": [CALL]}),
        (
            Message(role="tool", content="4", tool_call_id="c1", name="f"),
            {"role": "tool", "content": "4", "tool_call_id": "c1", "name": "f"},
        ),
        (
            Message(role="user", content=[{"type": "text", "text": "hi"}]),
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        ),
    ],
)
def test_an_empty_content_is_sent_and_none_next_to_calls(message: Message, body: dict[str, Any]) -> None:
    assert message_body(message) == body


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ('{"city": "Bern"}', {"city": "Bern"}),
        ({"city": "Bern"}, {"city": "Bern"}),
        ("", {}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        (None, {}),
        ('{"city": ', {"INVALID_JSON": '{"city": '}),
    ],
)
def test_vendors_that_want_an_object_get_one(said: Any, arguments: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(call_arguments(said))) == arguments


def test_arguments_are_sent_back_as_they_were_written() -> None:
    written = '{"n": 1.50, "big": 123456789012345678901234567890, "n": 2}'
    assert msgspec.json.encode({"input": call_arguments(written)}) == b'{"input":' + written.encode() + b"}"


def test_only_its_own_server_is_sent_what_a_vendor_keeps_in_a_call() -> None:
    call = with_vendor_state(CALL, "anthropic", ["signed"])
    assert vendor_state(call, "anthropic") == ["signed"]
    assert vendor_state(call, "gemini") is None
    foreign = {**CALL, "extra_content": {"google": {"thought_signature": "s"}}}
    body = message_body(Message(role="assistant", tool_calls=[call, foreign]))
    assert body["tool_calls"] == [CALL, foreign]


@pytest.mark.parametrize("said", ["[" * 100_000, '"\ud83d"'], ids=["without end", "half a character"])
def test_arguments_that_no_parser_takes_are_kept_as_text(said: str) -> None:
    assert call_arguments(said) == {"INVALID_JSON": said}
