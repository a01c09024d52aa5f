"""GenAI spans of OpenTelemetry as rows: OTLP in JSON, a line for each export, as the collector's file exporter writes.

A row is a span of an operation that called a model. The conversation is read wherever the semantic conventions have had
it: `gen_ai.input.messages` and `gen_ai.output.messages` (as attributes, or of an event), events for each message and
choice, and the numbered attributes of older instrumentations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from assay.datasets.rows import Row
from assay.datasets.traces import conversation_columns, is_conversation, joined_texts, json_values

OPERATIONS = ("chat", "text_completion", "generate_content")
"""Which spans are samples, unless the dataset says otherwise."""
_ERROR = (2, "STATUS_CODE_ERROR")
_MESSAGE_EVENTS = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,4})\.(role|content)")
_NUMBERED_CALL = re.compile(r"gen_ai\.(?:prompt|completion)\.(\d{1,4})\.tool_calls\.(\d{1,4})\.(id|name|arguments)")


class _Attribute(Struct):
    key: str
    value: dict[str, Any] = {}


class _Event(Struct):
    name: str = ""
    attributes: list[_Attribute] = []


class _Status(Struct):
    code: int | str = 0
    message: str = ""


class _Span(Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    attributes: list[_Attribute] = []
    events: list[_Event] = []
    status: _Status = field(default_factory=_Status)


class _Scope(Struct):
    spans: list[_Span] = []


class _Resource(Struct, rename="camel"):
    scope_spans: list[_Scope] = []


class _Export(Struct, rename="camel"):
    resource_spans: list[_Resource] = []


def span_rows(path: Path, operations: Sequence[str] | None = None) -> Iterator[Row]:
    """A row for each span of one of these operations, in the order of the file."""
    wanted = tuple(operations or OPERATIONS)
    for _, export in json_values(path, msgspec.json.Decoder(_Export).decode):
        for resource in export.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = _attributes(span.attributes)
                    if _operation(attributes) in wanted:
                        yield _row(span, attributes)


def _operation(attributes: dict[str, Any]) -> str:
    """The operation of the span; older instrumentations use another attribute, or leave it to be inferred."""
    operation = attributes.get("gen_ai.operation.name") or attributes.get("llm.request.type")
    if operation is None and any(_NUMBERED.fullmatch(name) for name in attributes):
        return "chat"
    return "text_completion" if operation == "completion" else str(operation)


def _row(span: _Span, attributes: dict[str, Any]) -> Row:
    messages = _conversation(span, attributes)
    model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
    row: Row = {
        "sample_id": span.span_id,
        "trace_id": span.trace_id,
        "parent_span_id": span.parent_span_id,
        "name": span.name,
        "operation": _operation(attributes),
        **(conversation_columns(messages) if messages else {"trace": None}),
        "metadata": {name: value for name, value in attributes.items() if _is_short(value)},
    }
    if model is not None:
        row["model"] = str(model)
    if span.status.code in _ERROR or "error.type" in attributes:
        row |= {"error": span.status.message or str(attributes.get("error.type") or "the span failed"), "trace": None}
    elif not messages:
        row["error"] = "the span holds no messages: the program that recorded it did not capture their content"
    return row


def _is_short(value: Any) -> bool:
    """Texts of messages are in the trace already."""
    return not isinstance(value, str | list | dict) or len(str(value)) <= 200


def _conversation(span: _Span, attributes: dict[str, Any]) -> list[dict[str, Any]]:
    fields = dict(attributes)
    for event in span.events:
        fields = {**_attributes(event.attributes), **fields}
    for messages in (_of_messages(fields), _of_events(span.events), _of_numbered(attributes), _of_texts(fields)):
        if is_conversation(messages):
            return messages
    return []


def _of_messages(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """The conventions' own messages: a role and parts."""
    system = _json(fields.get("gen_ai.system_instructions"))
    first = [{"role": "system", "parts": system}] if isinstance(system, list) and system else []
    inputs, outputs = (_json(fields.get(f"gen_ai.{side}.messages")) or () for side in ("input", "output"))
    written = [message for message in (*first, *inputs, *outputs) if isinstance(message, dict)]
    return [message for item in written for message in _of_parts(item)]


def _of_parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    for part in parts:
        if part.get("type") == "tool_call_response":
            answer = part.get("response", part.get("result"))
            text = answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": text}
    texts = [str(part.get("content", "")) for part in parts if part.get("type") == "text"]
    calls = [_call(part) for part in parts if part.get("type") == "tool_call"]
    content = message.get("content")
    if not parts and isinstance(content, str):
        texts = [content]
    if texts or calls or not parts:
        yield {
            "role": str(message.get("role")),
            "content": joined_texts(texts),
            **({"tool_calls": calls} if calls else {}),
        }


def _call(part: dict[str, Any]) -> dict[str, Any]:
    arguments = part.get("arguments")
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments or {}).decode()
    return {"id": part.get("id"), "type": "function", "function": {"name": part.get("name"), "arguments": text}}


def _of_events(events: Sequence[_Event]) -> list[dict[str, Any]]:
    """An event for each message, and one for each choice, of which the first is the answer."""
    messages: list[dict[str, Any]] = []
    for event in events:
        fields = _attributes(event.attributes)
        if role := _MESSAGE_EVENTS.get(event.name):
            messages.append(_message(role, fields))
        elif event.name == "gen_ai.choice" and int(fields.get("index", 0) or 0) == 0:
            message = _json(fields.get("message"))
            messages.append(_message("assistant", message if isinstance(message, dict) else fields))
    return messages


def _message(role: str, fields: dict[str, Any]) -> dict[str, Any]:
    content = fields.get("content")
    message: dict[str, Any] = {"role": role, "content": "" if content is None else str(content)}
    calls = _json(fields.get("tool_calls"))
    if isinstance(calls, list) and calls:
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = fields.get("id")
    return message


def _of_numbered(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    """`gen_ai.prompt.0.content` and the like."""
    messages: dict[tuple[bool, int], dict[str, Any]] = {}
    for name, value in attributes.items():
        if match := _NUMBERED.fullmatch(name):
            at = (match[1] == "completion", int(match[2]))
            messages.setdefault(at, {"role": "assistant" if at[0] else "user", "content": ""})[match[3]] = str(value)
    for name, value in attributes.items():
        if match := _NUMBERED_CALL.fullmatch(name):
            at = (".completion." in name, int(match[1]))
            calls = messages.setdefault(at, {"role": "assistant", "content": ""}).setdefault("tool_calls", {})
            calls.setdefault(int(match[2]), {})[match[3]] = value
    for message in messages.values():
        if "tool_calls" in message:
            message["tool_calls"] = [_call(call) for _, call in sorted(message["tool_calls"].items())]
    return [messages[at] for at in sorted(messages)]


def _of_texts(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """`gen_ai.prompt` and `gen_ai.completion`: messages in JSON, or one text each."""
    messages: list[dict[str, Any]] = []
    for name, role in (("gen_ai.prompt", "user"), ("gen_ai.completion", "assistant")):
        value = fields.get(name)
        if isinstance(listed := _json(value), list):
            messages += [_message(str(item.get("role", role)), item) for item in listed if isinstance(item, dict)]
        elif isinstance(value, str):
            messages.append({"role": role, "content": value})
    return messages


def _json(value: Any) -> Any:
    """A value that may have been written as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def _attributes(attributes: Sequence[_Attribute]) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(written: dict[str, Any]) -> Any:
    """OTLP's AnyValue; whole numbers are texts in its JSON."""
    for kind, value in written.items():
        match kind:
            case "intValue":
                return int(value) if str(value).lstrip("-").isdigit() else value
            case "arrayValue":
                return [_value(each) for each in (value or {}).get("values") or ()]
            case "kvlistValue":
                pairs = (value or {}).get("values") or ()
                return {str(pair.get("key")): _value(pair.get("value") or {}) for pair in pairs}
            case _:
                return value
    return None
