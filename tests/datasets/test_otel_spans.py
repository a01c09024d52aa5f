"""GenAI spans are rows, wherever their instrumentation put the messages; those without any are no answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.datasets.traces import TraceFile


def value(plain: Any) -> dict[str, Any]:
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case list():
            return {"arrayValue": {"values": [value(each) for each in plain]}}
        case dict():
            return {"kvlistValue": {"values": attributes(plain)}}
        case _:
            return {"stringValue": plain}


def attributes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(each)} for name, each in plain.items()]


def span(said: dict[str, Any], *, events: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    own = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **said}
    made = [{"name": name, "attributes": attributes(each)} for name, each in events or ()]
    return {"traceId": "t", "spanId": "s", "name": "chat m", "attributes": attributes(own), "events": made, **fields}


def read(tmp_path: Path, *spans: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
    export = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]}
    path = tmp_path / "spans.jsonl"
    path.write_text(json.dumps(export) + "\n")
    return [sample.row or {} for sample in TraceFile(path=str(path), **options)]


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]}]
ANSWERED = [{"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"}]
MESSAGES = {
    "gen_ai.system_instructions": json.dumps([{"type": "text", "content": "Be brief."}]),
    "gen_ai.input.messages": json.dumps(ASKED),
    "gen_ai.output.messages": json.dumps(ANSWERED),
}
SAME_CONVERSATION = {
    "attributes of JSON": (MESSAGES, []),
    "structured attributes": ({name: json.loads(text) for name, text in MESSAGES.items()}, []),
    "an event with all of it": ({}, [("gen_ai.client.inference.operation.details", MESSAGES)]),
    "an event for each message": (
        {},
        [
            ("gen_ai.system.message", {"content": "Be brief."}),
            ("gen_ai.user.message", {"content": "Weather in Paris?"}),
            ("gen_ai.choice", {"index": 0, "message": json.dumps({"role": "assistant", "content": "Rain."})}),
            ("gen_ai.choice", {"index": 1, "message": json.dumps({"role": "assistant", "content": "Sun."})}),
        ],
    ),
    "numbered attributes": (
        {
            "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user", "gen_ai.prompt.1.content": "Weather in Paris?",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Rain.",
        },
        [],
    ),
    "two texts": (
        {},
        [
            ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps([
                {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Weather in Paris?"}])}),
            ("gen_ai.content.completion", {"gen_ai.completion": "Rain."}),
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SAME_CONVERSATION)
def test_a_conversation_is_found_wherever_it_was_put(how: str, tmp_path: Path) -> None:
    said, events = SAME_CONVERSATION[how]
    (row,) = read(tmp_path, span(said, events=events))
    assert (row["sample_id"], row["model"], row["operation"]) == ("s", "m", "chat")
    assert (row["input"], row["output"]) == ("Weather in Paris?", "Rain.")
    texts = [item["content"][0]["text"] for item in row["trace"]["items"]]
    assert texts == ["Be brief.", "Weather in Paris?", "Rain."]
    assert "error" not in row


def test_tool_calls_and_their_answers_are_items(tmp_path: Path) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Paris"}}
    answer = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": {"sky": "rain"}}]}
    asked = [*ASKED, {"role": "assistant", "parts": [call]}, answer]
    (row,) = read(tmp_path, span({**MESSAGES, "gen_ai.input.messages": json.dumps(asked)}))
    assert [item["type"] for item in row["trace"]["items"]] == [
        "message", "message", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    made, answered = row["trace"]["items"][2:4]
    assert (made["name"], json.loads(made["arguments"]), made["call_id"]) == ("weather", {"city": "Paris"}, "c1")
    assert (answered["call_id"], json.loads(answered["output"])) == ("c1", {"sky": "rain"})


def test_only_spans_that_asked_a_model_are_samples_unless_others_are_named(tmp_path: Path) -> None:
    tool = {**span({"gen_ai.operation.name": "execute_tool"}), "spanId": "tool"}
    agent = {**span({**MESSAGES, "gen_ai.operation.name": "invoke_agent"}), "spanId": "agent"}
    other = {"traceId": "t", "spanId": "http", "name": "GET", "attributes": attributes({"http.method": "GET"})}
    spans = (span(MESSAGES), tool, agent, other)
    assert [row["sample_id"] for row in read(tmp_path, *spans)] == ["s"]
    assert [row["sample_id"] for row in read(tmp_path, *spans, operations=["invoke_agent"])] == ["agent"]


def test_a_span_that_failed_or_holds_no_messages_is_no_answer(tmp_path: Path) -> None:
    failed = span(MESSAGES, status={"code": 2, "message": "overloaded"})
    (row,) = read(tmp_path, failed)
    assert (row["error"], row["trace"]) == ("overloaded", None)
    (row,) = read(tmp_path, span({}))
    assert "did not capture their content" in row["error"]
    assert row["trace"] is None


def test_one_document_is_read_like_lines(tmp_path: Path) -> None:
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [span(MESSAGES)]}]}]}
    (tmp_path / "spans.json").write_text(json.dumps(export, indent=2))
    assert [sample.id for sample in TraceFile(path=str(tmp_path / "spans.json"))] == ["s"]


@pytest.mark.parametrize("bad", ['{"resourceSpans": 3}', '{"resourceSpans": [{"scopeSpans": [{"spans": [3]}]}]}', "{"])
def test_what_is_no_export_is_reported_with_its_line(bad: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(bad)
    with pytest.raises(UsageError, match=r"x\.jsonl:1: "):
        list(TraceFile(path=str(tmp_path / "x.jsonl"), file_format="opentelemetry"))
