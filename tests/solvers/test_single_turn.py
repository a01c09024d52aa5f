"""One request, one answer: as text or as a chat, with what the sample itself says about stops and length."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.scripted import Scripted

from assay.core.types import Completion, Request, Sample, Trace
from assay.solvers.single_turn import generation_of, single_turn


def solved(sample: Sample, answer: Any = "4", **options: Any) -> tuple[Request, Trace]:
    model = Scripted([answer])
    trace = asyncio.run(single_turn(**options)(sample, model))
    return model.requests[0], trace


def test_a_prompt_is_sent_unchanged_and_kept_with_its_answer() -> None:
    request, trace = solved(Sample(id="1", prompt=" 2 + 2?\n"))
    assert request == Request(prompt=" 2 + 2?\n")
    assert (trace.prompt, trace.prediction, trace.messages) == (" 2 + 2?\n", "4", None)


def test_a_system_text_makes_it_a_chat_that_ends_with_the_answer() -> None:
    request, trace = solved(Sample(id="1", prompt="2 + 2?"), system="be brief")
    assert request.prompt is None
    assert [message.role for message in request.messages or ()] == ["system", "user"]
    assert [message.content for message in trace.messages or ()] == ["be brief", "2 + 2?", "4"]


def test_messages_of_the_sample_come_before_its_prompt() -> None:
    given = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    request, _ = solved(Sample(id="1", prompt="unused", extras={"messages": given}))
    assert [message.content for message in request.messages or ()] == ["a", "b", "c"]
    with pytest.raises(msgspec.ValidationError, match="role"):
        solved(Sample(id="1", extras={"messages": [{"content": "nobody said it"}]}))


def test_tool_calls_are_part_of_the_conversation() -> None:
    call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
    _, trace = solved(Sample(id="1", prompt="?"), Completion(text="", tool_calls=[call]), system="s")
    assert (trace.messages or ())[-1].tool_calls == [call]


@pytest.mark.parametrize(
    ("said", "settings"),
    [
        ({"stop": ["Q:", 3], "max_tokens": 5}, {"stop": ("Q:", "3"), "max_tokens": 5}),
        ({"stop": [], "temperature": 0.0}, {"temperature": 0.0}),
        ({"n": 4, "colour": "red"}, {}),
        ("short", {}),
        (None, {}),
    ],
)
def test_only_known_settings_of_a_sample_reach_the_request(said: Any, settings: dict[str, Any]) -> None:
    assert generation_of(Sample(id="1", extras={"generation": said})) == settings
