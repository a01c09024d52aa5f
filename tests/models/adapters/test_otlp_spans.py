"""Spans are read from OTLP's protobuf and JSON alike.

`cases/otlp_spans.jsonl` holds requests that OpenTelemetry's own library (opentelemetry-proto 1.45) wrote, and their
content.
"""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest

from assay.models.adapters.otlp_spans import redacted, spans_in

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "otlp_spans.jsonl").read_text().splitlines()]
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def request(**fields: Any) -> bytes:
    span = {"traceId": TRACE, "spanId": SPAN, "name": "x", "startTimeUnixNano": "1000000", **fields}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def test_protobuf_is_read_as_opentelemetry_wrote_it() -> None:
    for case in CASES:
        read = spans_in(bytes.fromhex(case["protobuf"]), "protobuf")
        assert len(read) == len(case["spans"]) > 0
        for (trace, span), wanted in zip(read, case["spans"], strict=True):
            kind, status = wanted.pop("kind"), wanted.pop("status", None)
            assert wanted.pop("traceId") == trace
            assert span["attributes"].pop("otel.span.kind") == kind
            attributes = {key: value for key, value in span["attributes"].items() if not key.startswith("otel.")}
            if status is not None:
                assert [span.pop("statusCode", 0), span.pop("statusMessage", "")] == status
            assert {**span, "attributes": attributes} == wanted


def test_a_damaged_request_is_refused_and_nothing_else_happens() -> None:
    rng = random.Random(1)
    refused = 0
    for case in CASES:
        for _ in range(20):
            data = bytearray.fromhex(case["protobuf"])
            data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                spans_in(bytes(data[: rng.randrange(len(data))]), "protobuf")
            except ValueError:
                refused += 1
    assert refused > 100


def test_json_has_its_attributes_ids_and_times() -> None:
    attributes = [
        {"key": "n", "value": {"intValue": "5"}},
        {"key": "list", "value": {"arrayValue": {"values": [{"stringValue": "a"}, {"boolValue": True}]}}},
        {"key": "map", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": 0.5}}]}}},
    ]
    encoded = base64.b64encode(bytes.fromhex(TRACE)).decode()
    body = request(traceId=encoded, endTimeUnixNano="2500000", kind=3, attributes=attributes, status={"code": 2})
    assert spans_in(body, "json") == [
        (
            TRACE,
            {
                "spanId": SPAN,
                "name": "x",
                "startTime": 1.0,
                "endTime": 2.5,
                "attributes": {
                    "n": 5,
                    "list": ["a", True],
                    "map": {"k": 0.5},
                    "otel.span.kind": "client",
                    "otel.span.kind_code": 3,
                },
                "statusCode": 2,
            },
        )
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"null",
        b"[" * 100_000,
        b'{"resourceSpans": 3}',
        request(traceId=5),
        request(startTimeUnixNano="nan"),
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        spans_in(body, "json")


def test_redacted_attributes_are_hidden_wherever_they_are_repeated() -> None:
    span = {"name": "s3cret", "statusMessage": "ok", "attributes": {"API_Key": "s3cret", "in": [{"token": 1, "b": 2}]}}
    assert redacted(span, ["api_key", " Token "]) == {
        "name": "[REDACTED]",
        "statusMessage": "ok",
        "attributes": {"API_Key": "[REDACTED]", "in": [{"token": "[REDACTED]", "b": 2}]},
    }


def test_half_a_character_is_replaced() -> None:
    """A program that cuts a text in the middle of an emoji sends half of it, which no journal can hold."""
    ((_, span),) = spans_in(
        request(name="\ud83d", attributes=[{"key": "k", "value": {"stringValue": "a\ud83d"}}]), "json"
    )
    assert (span["name"], span["attributes"]["k"]) == ("\ufffd", "a\ufffd")


def test_deep_attributes_are_refused() -> None:
    value: dict[str, object] = {"stringValue": "x"}
    for _ in range(16):
        value = {"arrayValue": {"values": [value]}}
    assert spans_in(request(attributes=[{"key": "k", "value": value}]), "json")
    with pytest.raises(ValueError, match="nested too deeply"):
        spans_in(request(attributes=[{"key": "k", "value": {"arrayValue": {"values": [value]}}}]), "json")


def test_a_request_of_very_many_empty_messages_is_refused_before_they_fill_the_memory() -> None:
    with pytest.raises(ValueError, match="more than 500,000 messages"):
        spans_in(b"\x0a\x00" * 600_000, "protobuf")
