"""Messages as chat servers take them, and arguments of tool calls as models write them."""

from __future__ import annotations

from typing import Any

import pytest

from assay.core.types import Message
from assay.models.adapters.chat_messages import call_arguments, message_body

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
def test_an_empty_content_is_sent_and_none_beside_calls(message: Message, body: dict[str, Any]) -> None:
    assert message_body(message) == body


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ('{"city": "Bern"}', {"city": "Bern"}),
        ({"city": "Bern"}, {"city": "Bern"}),
        ("", {"arguments": ""}),
        (None, {}),
        ('{"city": ', {"arguments": '{"city": '}),
    ],
)
def test_arguments_are_read_where_they_are_json_and_kept_where_they_are_not(said: Any, arguments: Any) -> None:
    assert call_arguments(said) == arguments


@pytest.mark.parametrize("said", ["[" * 100_000, '"\ud83d"'], ids=["without end", "half a character"])
def test_arguments_that_no_parser_takes_are_kept_as_text(said: str) -> None:
    assert call_arguments(said) == {"arguments": said}
