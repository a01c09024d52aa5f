"""Messages as other programs expect them: plain objects with role and content."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.types import Message


def message_body(message: Message) -> dict[str, Any]:
    """One message as a plain object. Not the record's own encoding: that leaves out an empty content."""
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name is not None:
        body["name"] = message.name
    if message.tool_calls:
        body["tool_calls"] = message.tool_calls
        body["content"] = message.content or None
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def call_arguments(text: Any) -> Any:
    """The arguments of a tool call, which chat servers write as JSON in a text."""
    if not isinstance(text, str):
        return text or {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # a model wrote it
        return {"arguments": text}
