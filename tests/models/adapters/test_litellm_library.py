"""The long tail through litellm: its answers and its errors in our words, against the library itself."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from tests.contracts.model import check_model, closing
from tests.servers.fake_openai import fake_openai
from tests.servers.strict_vendors import serving, strict_anthropic, strict_gemini, strict_openai

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request
from assay.models.adapters.litellm_library import LiteLLMModel
from assay.models.model_names import make_model
from assay.solvers.single_turn import reply

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("litellm", reason="needs the extra `litellm`")

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def model_on(base_url: str) -> Model:
    return make_model("litellm:openai/m", {"extra": {"api_base": base_url}})


def test_it_keeps_the_contract_of_a_model() -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with fake_openai() as server, closing(model_on(server.base_url)) as model:
            yield model

    check_model(make_one)


@pytest.mark.parametrize(
    ("prompt", "kind", "retryable"),
    [
        ("behave: status 429 9", "rate_limit", True),
        ("behave: status 401 9", "auth", False),
        ("behave: status 400 9", "bad_request", False),
        ("behave: status 503 9", "server_error", True),
    ],
)
def test_its_errors_have_our_kinds(prompt: str, kind: str, retryable: bool) -> None:
    async def ask() -> Any:
        async with fake_openai() as server, closing(model_on(server.base_url)) as model:
            with pytest.raises(FailureError) as caught:
                await model.generate(Request(prompt=prompt))
            return caught.value.failure, sum(server.seen.values())

    failure, asked = asyncio.run(ask())
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert asked == 1  # retrying is the run's business


WEATHER = {"type": "function", "function": {"name": "weather", "description": "d", "parameters": {"type": "object"}}}
SERVERS: dict[str, Any] = {
    "openai/gpt-4o": strict_openai,
    "anthropic/claude-sonnet-4-5": strict_anthropic,
    "gemini/gemini-3-pro-preview": strict_gemini,
}


@pytest.mark.parametrize("name", SERVERS)
def test_arguments_that_are_no_json_object_are_replayed_as_they_were_written(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp", reason="litellm needs it for tools")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("GEMINI_API_KEY", "sk-test")
    written = '{"city": "Be'
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": written}}
    messages = (
        Message(role="user", content="What is the weather?"),
        Message(role="assistant", content="I look it up.", tool_calls=[call]),
        Message(role="tool", tool_call_id="call_1", content="sunny"),
    )

    async def converse() -> dict[str, Any]:
        async with SERVERS[name]() as (address, bodies):
            path = "/v1" if name.startswith("openai/") else ""
            with suppress(FailureError):  # Anthropic's server wants a thought, which another vendor's call has none of
                async with closing(make_model(f"litellm:{name}", {"extra": {"api_base": address + path}})) as model:
                    await model.generate(Request(messages=messages, tools=[WEATHER]))
            return bodies[-1]

    sent = json.dumps(asyncio.run(converse()))
    assert json.dumps(written) in sent
    assert ("INVALID_JSON" in sent) is (name != "openai/gpt-4o")


def test_effort_reasoning_tokens_and_log_probabilities_are_not_lost() -> None:
    async def ask() -> tuple[Completion, dict[str, Any]]:
        usage = {"prompt_tokens": 1, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 7}}
        token = {"token": "hi", "logprob": -0.5, "bytes": None, "top_logprobs": []}
        choice = {"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
        reply = {"choices": [{**choice, "logprobs": {"content": [token]}}], "usage": {**usage, "total_tokens": 10}}
        async with serving(lambda _: 0, [reply]) as (address, bodies):
            model = make_model("litellm:openai/o4-mini", {"extra": {"api_base": f"{address}/v1"}})
            async with closing(model):
                request = Request(prompt="x", reasoning_effort="low", logprobs=0, extra={"drop_params": True})
                return await model.generate(request), bodies[0]

    completion, body = asyncio.run(ask())
    assert body["reasoning_effort"] == "low"
    assert completion.tokens_reasoning == 7
    assert [entry["logprob"] for entry in completion.logprobs or ()] == [-0.5]


def test_signed_thoughts_go_back_before_the_calls_they_led_to(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="litellm needs it for tools")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")

    async def converse() -> Completion:
        async with strict_anthropic() as (address, _):
            options = {"extra": {"api_base": address}}
            async with closing(make_model("litellm:anthropic/claude-sonnet-4-5", options)) as model:
                messages = [Message(role="user", content="What is the weather?")]
                while True:
                    request = Request(messages=tuple(messages), tools=[WEATHER], reasoning_effort="low")
                    completion = await model.generate(request)
                    if not completion.tool_calls:
                        return completion
                    messages.append(reply(completion))
                    messages += [
                        Message(role="tool", tool_call_id=call["id"], content="sunny") for call in completion.tool_calls
                    ]

    assert asyncio.run(converse()).text == "Sunny everywhere."


def test_a_package_that_litellm_lacks_is_no_connection_problem() -> None:
    model = LiteLLMModel("openai/m")
    error = ConnectionError("OpenAIException - No module named 'mcp'")
    error.__context__ = ModuleNotFoundError("No module named 'mcp'", name="mcp")
    failure = model._failure_of(error).failure
    assert (failure.kind, failure.retryable) == ("unsupported", False)
    assert "pip install mcp" in failure.message


def test_a_key_does_not_belong_into_options() -> None:
    with pytest.raises(UsageError, match="run files"):
        make_model("litellm:openai/m", {"extra": {"api_key": "sk-1"}})
