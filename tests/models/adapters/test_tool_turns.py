"""Calls of tools and their results make the round trip with each vendor, in its own protocol."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.models.adapters.vendors import WEATHER, with_keys
from tests.servers.strict_vendors import CITIES, UNSIGNED, strict_anthropic, strict_gemini, strict_openai

from assay.core.seams import BuildContext
from assay.core.types import Completion, Message, Request, Sample
from assay.models.adapters.anthropic import AnthropicModel
from assay.models.adapters.gemini import GeminiModel, gemini_body
from assay.models.adapters.openai import OpenAIModel
from assay.snippets.views import SolverTrace, chat_messages, trace_items
from assay.solvers.python_snippet import PythonSolver
from assay.solvers.single_turn import reply

environment = pytest.fixture(autouse=True)(with_keys)
VENDORS: dict[str, Any] = {
    "anthropic": (strict_anthropic, AnthropicModel),
    "gemini": (strict_gemini, GeminiModel),
    "openai": (strict_openai, OpenAIModel),
}


def answered(completion: Completion) -> list[Message]:
    return [
        Message(
            role="tool",
            tool_call_id=call["id"],
            content="sunny in " + json.loads(call["function"]["arguments"])["city"],
        )
        for call in completion.tool_calls or ()
    ]


def as_the_journal_keeps_it(messages: list[Message]) -> list[Message]:
    return msgspec.json.decode(msgspec.json.encode(messages), type=list[Message])


def as_snippets_see_it(messages: list[Message]) -> list[Message]:
    plain = [{"content": "", **msgspec.to_builtins(message)} for message in messages]
    return [Message(**each) for each in chat_messages(SolverTrace(trace_items(plain)).items)]


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("handed_on", [list, as_the_journal_keeps_it, as_snippets_see_it])
def test_calls_at_once_signatures_and_names_come_back_as_the_vendor_wants_them(vendor: str, handed_on: Any) -> None:
    serve, adapter = VENDORS[vendor]

    async def converse() -> tuple[list[Completion], list[dict[str, Any]]]:
        completions: list[Completion] = []
        async with serve() as (address, bodies):
            model = adapter("m", base_url=address)
            messages = [Message(role="user", content="What is the weather?")]
            try:
                while not completions or completions[-1].tool_calls:
                    messages = handed_on(messages)
                    completions.append(await model.generate(Request(messages=tuple(messages), tools=[WEATHER])))
                    messages += [reply(completions[-1]), *answered(completions[-1])]
            finally:
                await model.aclose()
        return completions, bodies

    completions, bodies = asyncio.run(converse())
    assert completions[-1].text == "Sunny everywhere."
    assert len(bodies) == 3
    calls = [call for completion in completions for call in completion.tool_calls or ()]
    assert [json.loads(call["function"]["arguments"])["city"] for call in calls] == list(CITIES)
    assert len({call["id"] for call in calls}) == 3
    assert UNSIGNED not in json.dumps(bodies)


def test_a_call_that_gemini_gave_an_id_is_replayed_and_answered_with_it() -> None:
    async def converse() -> dict[str, Any]:
        async with strict_gemini() as (address, bodies):
            model = GeminiModel("m", base_url=address)
            messages = [Message(role="user", content="What is the weather?")]
            try:
                for _ in range(3):
                    completion = await model.generate(Request(messages=tuple(messages), tools=[WEATHER]))
                    messages += [reply(completion), *answered(completion)]
                return bodies[-1]
            finally:
                await model.aclose()

    parts = [part for content in asyncio.run(converse())["contents"] for part in content["parts"]]
    calls = [part["functionCall"].get("id") for part in parts if "functionCall" in part]
    results = [part["functionResponse"].get("id") for part in parts if "functionResponse" in part]
    assert calls == results == [None, None, "fc-2"]


@pytest.mark.parametrize(("model_name", "signature"), [("gemini-3-pro-preview", UNSIGNED), ("gemini-2.5-flash", None)])
def test_calls_of_another_vendor_reach_gemini_with_the_signature_that_its_guide_names_for_them(
    model_name: str, signature: str | None
) -> None:
    calls = [
        {
            "id": f"toolu_{city}",
            "type": "function",
            "function": {"name": "weather", "arguments": f'{{"city": "{city}"}}'},
        }
        for city in CITIES[:2]
    ]
    messages = (
        Message(role="user", content="What is the weather?"),
        Message(role="assistant", content="I look it up.", tool_calls=calls),
        *(Message(role="tool", tool_call_id=call["id"], content="sunny") for call in calls),
    )

    parts = gemini_body(Request(messages=messages, tools=[WEATHER]), {}, model_name)["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, signature, None]

    async def go_on() -> Completion:
        async with strict_gemini() as (address, _):
            model = GeminiModel(model_name, base_url=address)
            try:
                return await model.generate(Request(messages=messages, tools=[WEATHER]))
            finally:
                await model.aclose()

    if signature is not None:
        assert asyncio.run(go_on()).tool_calls


WRAPPED = {"anthropic": "input", "gemini": "args"}


@pytest.mark.parametrize("vendor", VENDORS)
@pytest.mark.parametrize("written", ['{"city": "Be', "[1]", "Bern", '{"n": NaN}', "[" * 2_000])
def test_arguments_that_are_no_json_object_are_replayed_as_they_were_written(vendor: str, written: str) -> None:
    serve, adapter = VENDORS[vendor]

    async def converse() -> tuple[Completion, dict[str, Any]]:
        async with serve() as (address, bodies):
            model = adapter("m", base_url=address)
            asked = Message(role="user", content="What is the weather?")
            try:
                first = await model.generate(Request(messages=(asked,), tools=[WEATHER]))
                results = answered(first)
                calls = [
                    call | {"function": {**call["function"], "arguments": written}} for call in first.tool_calls or ()
                ]
                said = msgspec.structs.replace(reply(first), tool_calls=calls)
                return await model.generate(Request(messages=(asked, said, *results), tools=[WEATHER])), bodies[-1]
            finally:
                await model.aclose()

    completion, body = asyncio.run(converse())
    assert [json.loads(call["function"]["arguments"])["city"] for call in completion.tool_calls or ()] == [CITIES[2]]
    key = WRAPPED.get(vendor)
    replayed = {key: {"INVALID_JSON": written}} if key else {"arguments": written}
    assert json.dumps(body).count(json.dumps(replayed)[1:-1]) == 2


@pytest.mark.parametrize("vendor", VENDORS)
def test_arguments_may_be_an_object_in_a_conversation(vendor: str) -> None:
    serve, adapter = VENDORS[vendor]

    async def converse() -> Completion:
        async with serve() as (address, _):
            model = adapter("m", base_url=address)
            asked = Message(role="user", content="What is the weather?")
            try:
                first = await model.generate(Request(messages=(asked,), tools=[WEATHER]))
                calls = [
                    call | {"function": {"name": "weather", "arguments": {"city": "Bern"}}}
                    for call in first.tool_calls or ()
                ]
                said = msgspec.structs.replace(reply(first), tool_calls=calls)
                return await model.generate(Request(messages=(asked, said, *answered(first)), tools=[WEATHER]))
            finally:
                await model.aclose()

    assert asyncio.run(converse()).tool_calls


AGENT = """
async def run_solver(sample, model, trace):
    messages = [{"role": "user", "content": [{"type": "text", "text": "Weather?"}, IMAGE]}]
    while True:
        answer = await model.predict({"messages": messages}, temperature=0.5, max_tokens=99, tools=[WEATHER])
        message = answer.raw_output.data["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        messages.append({"role": "assistant", "content": answer.text, "tool_calls": calls})
        if not calls:
            return answer.text
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in calls]
"""


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_snippet_can_continue_with_calls_it_keeps_as_chat_messages(vendor: str, tmp_path: Path) -> None:
    serve, adapter = VENDORS[vendor]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    source = AGENT.replace("IMAGE", repr(image)).replace("WEATHER", repr(WEATHER))

    async def solve() -> tuple[str, list[dict[str, Any]]]:
        async with serve() as (address, bodies):
            model, solver = (
                adapter("m", base_url=address),
                PythonSolver(run_solver_snippet=source, context=BuildContext(own_code=True)),
            )
            try:
                return (await solver(Sample(id="1"), model)).prediction, bodies
            finally:
                await solver.aclose()
                await model.aclose()

    prediction, bodies = asyncio.run(solve())
    assert prediction == "Sunny everywhere."
    for body in bodies:
        settings = body["generationConfig"] if vendor == "gemini" else body
        assert settings["temperature"] == 0.5
        assert settings["maxOutputTokens" if vendor == "gemini" else "max_tokens"] == 99
        assert "iVBORw0KGgo=" in json.dumps(body)
