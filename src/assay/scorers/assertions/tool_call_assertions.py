"""Assertions about the tools that an answer calls: whether every call is valid, and which tools they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from assay.scorers.assertions.json_schema import conforms


def calls_are_valid(output: Any, tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the answer is tool calls, each of a known function with arguments that its schema allows."""
    calls = output.get("tool_calls") if isinstance(output, dict) else output
    if not isinstance(calls, list) or not calls:
        return False
    schemas = {tool["function"]["name"]: tool["function"].get("parameters") for tool in tools if "function" in tool}
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            return False
        try:
            given = json.loads(function["arguments"])
        except (ValueError, RecursionError):
            return False
        schema = schemas.get(function.get("name"))
        if schema is None or not conforms(given, schema):
            return False
    return True


def tool_call_f1(output: Any, wanted: Any) -> float:
    """F1 of the set of tools called against the set of those wanted: a list of names, or a text with commas."""
    expected = {part.strip() for part in wanted.split(",")} if isinstance(wanted, str) else set(map(str, wanted))
    called = set(called_tools(output))
    hits = len(expected & called)
    if not hits:
        return 0.0
    precision, recall = hits / len(called), hits / len(expected)
    return 2 * precision * recall / (precision + recall)


def called_tools(output: Any) -> Iterator[str]:
    """The names of the tools called, in the shapes of OpenAI, Anthropic and Google; in a text, those that are JSON."""
    if isinstance(output, str):
        yield from _called_in_text(output)
    elif isinstance(output, list):
        for block in output:
            yield from _called_in_block(block)
    elif isinstance(output, dict):
        yield from _called_in_object(output)


def _called_in_text(text: str) -> Iterator[str]:
    """Those of the whole text where it is JSON, else of every line that is."""
    try:
        yield from called_tools(json.loads(text))
        return
    except (ValueError, RecursionError):
        pass
    for line in map(str.strip, text.split("\n")):
        if line.startswith(("{", "[")):
            with suppress(ValueError, RecursionError):
                yield from called_tools(json.loads(line))


def _called_in_object(value: Mapping[str, Any]) -> Iterator[str]:
    live = value.get("toolCall")
    if isinstance(value.get("tool_calls"), list):
        for call in value["tool_calls"]:
            if isinstance(call, dict):
                yield from _names(call.get("function"), call)
    elif value.get("type") == "tool_use" or isinstance(value.get("functionCall"), dict):
        yield from _called_in_block(value)
    elif isinstance(live, dict) and isinstance(live.get("functionCalls"), list):
        yield from _names(*live["functionCalls"])


def _called_in_block(block: Any) -> Iterator[str]:
    if not isinstance(block, dict):
        return
    if block.get("type") == "tool_use" and isinstance(block.get("name"), str):
        yield block["name"]
    else:
        inner = (block[key] for key in ("functionCall", "function") if isinstance(block.get(key), dict))
        yield from _names(next(inner, block))


def _names(*calls: Any) -> Iterator[str]:
    yield from (call["name"] for call in calls if isinstance(call, dict) and isinstance(call.get("name"), str))
