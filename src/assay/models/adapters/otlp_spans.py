"""OTLP, the protocol in which programs send their spans: its JSON and its protobuf, read into plain spans.

Protobuf is read into the shape of the JSON, by a table of the few messages that spans need; other fields are skipped.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from assay.reading.strict_json import decode_mended
from assay.spans import Span

_KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
_MILLION = 1_000_000
_MOST_NESTED = 16
_MOST_MESSAGES = 500_000
"""An empty message takes two bytes of a request, and a hundred times as much in memory."""
REDACTED = "[REDACTED]"


def spans_in(body: bytes, format_: str) -> list[tuple[str, Span]]:
    """The spans of a request, each with the id of its trace; `ValueError` where it cannot be read."""
    try:
        request = decode_mended(body) if format_ == "json" else _message("request", memoryview(body), count(1))
        return [
            (_id(span["traceId"], 32), _span(resource, scope, span))
            for resource in request["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a request of OTLP: {type(error).__name__}: {error}") from error


def _span(resource: Mapping[str, Any], scope: Mapping[str, Any], span: Mapping[str, Any]) -> Span:
    about, kind = scope.get("scope") or {}, int(span.get("kind") or 0)
    attributes = {
        **_attributes((resource.get("resource") or {}).get("attributes")),
        **_attributes(span.get("attributes")),
        "otel.scope.name": about.get("name"),
        "otel.scope.version": about.get("version"),
        "otel.span.kind": _KINDS[kind] if 0 <= kind < len(_KINDS) else _KINDS[0],
        "otel.span.kind_code": kind,
    }
    status = span.get("status") or {}
    end, parent = span.get("endTimeUnixNano"), span.get("parentSpanId")
    fields = {
        "spanId": _id(span["spanId"], 16),
        "parentSpanId": _id(parent, 16) if parent else None,
        "name": str(span["name"]),
        "startTime": _milliseconds(span["startTimeUnixNano"]),
        "endTime": _milliseconds(end) if end else None,
        "attributes": {name: value for name, value in attributes.items() if value is not None},
        "statusCode": int(status["code"]) if re.fullmatch(r"\d+", str(status.get("code"))) else None,
        "statusMessage": None if status.get("message") is None else str(status["message"]),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _milliseconds(nanoseconds: str | int) -> float:
    time = float(nanoseconds) / _MILLION
    if not math.isfinite(time):
        raise ValueError("a time must be finite")
    return time


def _id(given: str | bytes, length: int) -> str:
    """An id in lower-case hex; JSON may have it in hex or, as its protobuf mapping says, in base64."""
    if isinstance(given, bytes):
        return given.hex().rjust(length, "0")
    if re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", given):
        return given.lower()
    decoded = base64.b64decode(given + "=" * (-len(given) % 4))
    text = decoded.decode("ascii", "replace")
    return text.lower() if re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else decoded.hex()


def _attributes(given: Sequence[Mapping[str, Any]] | None, depth: int = 0) -> dict[str, Any]:
    return {str(item["key"]): _value(item.get("value") or {}, depth) for item in given or ()}


def _value(given: Mapping[str, Any], depth: int) -> Any:
    if depth > _MOST_NESTED:
        raise ValueError("an attribute is nested too deeply")
    if "intValue" in given:
        return int(float(given["intValue"]))  # as JavaScript has it: exact up to 2**53
    if "arrayValue" in given:
        return [_value(each, depth + 1) for each in given["arrayValue"].get("values") or ()]
    if "kvlistValue" in given:
        return _attributes(given["kvlistValue"].get("values"), depth + 1)
    if isinstance(given.get("bytesValue"), bytes):
        return base64.b64encode(given["bytesValue"]).decode()
    value = next((given[name] for name in ("stringValue", "doubleValue", "boolValue") if name in given), None)
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- attributes that are not kept -----------------------------------------------------------------------------------


def redacted(span: Span, patterns: Sequence[str]) -> Span:
    """The span without the values of attributes whose name contains a pattern, wherever they are repeated."""
    words = [pattern.strip().lower() for pattern in patterns if pattern.strip()]
    if not words:
        return span
    attributes = span.get("attributes") or {}
    hidden = {value for name, value in attributes.items() if isinstance(value, str) and _is_hidden(name, words)}
    echoes = {name: REDACTED for name in ("name", "statusMessage") if span.get(name) in hidden}
    return {**span, **echoes, "attributes": _hide(attributes, words)}


def _hide(value: Any, words: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_hide(item, words) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: REDACTED if _is_hidden(name, words) else _hide(each, words) for name, each in value.items()}


def _is_hidden(name: str, words: Sequence[str]) -> bool:
    return any(word in name.lower() for word in words)


# -- protobuf -------------------------------------------------------------------------------------------------------

_MESSAGES: dict[str, dict[int, tuple[str, str]]] = {
    "request": {1: ("resourceSpans", "resource_spans*")},
    "resource_spans": {1: ("resource", "resource"), 2: ("scopeSpans", "scope_spans*")},
    "resource": {1: ("attributes", "key_value*")},
    "scope_spans": {1: ("scope", "scope"), 2: ("spans", "span*")},
    "scope": {1: ("name", "text"), 2: ("version", "text")},
    "span": {
        1: ("traceId", "bytes"),
        2: ("spanId", "bytes"),
        4: ("parentSpanId", "bytes"),
        5: ("name", "text"),
        6: ("kind", "number"),
        7: ("startTimeUnixNano", "number"),
        8: ("endTimeUnixNano", "number"),
        9: ("attributes", "key_value*"),
        15: ("status", "status"),
    },
    "status": {2: ("message", "text"), 3: ("code", "number")},
    "key_value": {1: ("key", "text"), 2: ("value", "value")},
    "value": {
        1: ("stringValue", "text"),
        2: ("boolValue", "flag"),
        3: ("intValue", "signed"),
        4: ("doubleValue", "double"),
        5: ("arrayValue", "array"),
        6: ("kvlistValue", "key_values"),
        7: ("bytesValue", "bytes"),
    },
    "array": {1: ("values", "value*")},
    "key_values": {1: ("values", "key_value*")},
}
"""Of each message, its fields by number: the name in JSON and the type, with a star where it is repeated."""
_USUAL: dict[str, dict[str, Any]] = {
    "request": {"resourceSpans": []},
    "resource_spans": {"scopeSpans": []},
    "scope_spans": {"spans": []},
    "span": {"name": "", "startTimeUnixNano": 0},
    "key_value": {"key": ""},
}
"""Fields that are needed, and not sent where they are empty."""
_SCALARS: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: bytes(value).decode(),
    "bytes": bytes,
    "number": int,
    "flag": bool,
    "signed": lambda value: value - (1 << 64) if value >> 63 else value,
    "double": lambda value: struct.unpack("<d", struct.pack("<Q", value))[0],
}

_NUMBERS = ("number", "flag", "signed", "double")


def _message(kind: str, data: memoryview, numbers: Iterator[int]) -> dict[str, Any]:
    if next(numbers) > _MOST_MESSAGES:
        raise ValueError(f"the request has more than {_MOST_MESSAGES:,} messages")
    message: dict[str, Any] = {
        name: list(value) if value == [] else value for name, value in _USUAL.get(kind, {}).items()
    }
    for number, value in _fields(data):
        name, type_ = _MESSAGES[kind].get(number, ("", ""))
        if not name:
            continue
        each = type_.removesuffix("*")
        if isinstance(value, int) is not (each in _NUMBERS):
            raise ValueError(f"`{name}` is of another type")
        read = _SCALARS[each](value) if each in _SCALARS else _message(each, value, numbers)
        if type_.endswith("*"):
            message.setdefault(name, []).append(read)
        else:
            message[name] = read
    return message


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """The fields of a message: numbers, and the bytes of everything else."""
    at = 0
    value: Any
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = int.from_bytes(_taken(data, at, size), "little"), at + size
        elif wire == 2:
            size, at = _varint(data, at)
            value, at = _taken(data, at, size), at + size
        else:
            raise ValueError(f"wire type {wire}")
        yield number, value


def _taken(data: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(data):
        raise ValueError("the message ends too early")
    return data[at : at + size]


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        value, at = value | (byte & 0x7F) << shift, at + 1
        if byte < 0x80:
            return value & ((1 << 64) - 1), at
    raise ValueError("a number of more than 64 bits")
