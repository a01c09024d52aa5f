"""Messages as plain objects with role and content, and the vendor state of tool calls.

A vendor's state, without which it rejects the next request (such as the signature of a thought), is kept in the tool
call's `extra_content` under the vendor's name, and sent back only to that vendor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from assay.core.types import Message

NATIVE_VENDORS = ("anthropic", "gemini", "litellm")
"""Vendors with an adapter of their own; a server that speaks the OpenAI protocol gets back whatever it sent."""
NOT_AN_OBJECT = "INVALID_JSON"
"""The key that Anthropic's guide (fine-grained tool streaming) suggests for invalid JSON that is sent back."""


def message_body(message: Message) -> dict[str, Any]:
    """One message as a plain object. The record's own encoding would leave out an empty content."""
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.name is not None:
        body["name"] = message.name
    if message.tool_calls:
        body["tool_calls"] = [_call_body(call) for call in message.tool_calls]
        body["content"] = message.content or None
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    return body


def vendor_state(call: Mapping[str, Any], vendor: str) -> Any:
    """The state that a vendor requires with a call it made; None when the call is another vendor's."""
    kept = call.get("extra_content")
    return kept.get(vendor) if isinstance(kept, Mapping) else None


def with_vendor_state(call: dict[str, Any], vendor: str, state: Any) -> dict[str, Any]:
    return {**call, "extra_content": {vendor: state}} if state else call


def call_arguments(text: Any) -> Any:
    """The arguments of a tool call for vendors that accept only an object: unchanged if they are one.

    Any other text, such as truncated JSON, becomes the value of one key.
    """
    if not isinstance(text, str):
        return text or {}
    try:
        is_object = isinstance(msgspec.json.decode(text or "{}"), dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):  # a model wrote it
        is_object = False
    return msgspec.Raw((text or "{}").encode()) if is_object else {NOT_AN_OBJECT: text}


def called_names(messages: Iterable[Message]) -> dict[str, str]:
    """The name of the function of each tool call of a conversation, by the call's id."""
    calls = [call for message in messages for call in message.tool_calls or ()]
    return {str(call.get("id")): str(call.get("function", {}).get("name")) for call in calls}


def with_tool_results_together(messages: Sequence[Message]) -> list[list[Message]]:
    """Adjacent tool results in one group, every other message alone: vendors take all results of a turn at once."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and groups and groups[-1][-1].role == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups


def _call_body(call: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's protocol, which takes arguments as text, whatever it says."""
    call = _without_native_state(call)
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), dict):
        return call
    return {**call, "function": {**function, "arguments": json.dumps(function["arguments"], ensure_ascii=False)}}


def _without_native_state(call: dict[str, Any]) -> dict[str, Any]:
    kept = call.get("extra_content")
    if not isinstance(kept, dict) or not any(vendor in kept for vendor in NATIVE_VENDORS):
        return call
    others = {name: state for name, state in kept.items() if name not in NATIVE_VENDORS}
    bare = {name: value for name, value in call.items() if name != "extra_content"}
    return {**bare, "extra_content": others} if others else bare
