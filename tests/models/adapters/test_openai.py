"""The OpenAI adapter: what is sent, what is read, and the name of everything that can go wrong."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.model import check_model, closing
from tests.servers.fake_openai import FakeServer, fake_openai

from assay.core.errors import FailureError, UsageError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request
from assay.models.adapters.http_model import retry_after_seconds
from assay.models.adapters.openai import OpenAIModel, _decode_reply, make

KEY = "sk-test-1234567890-secret"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for name in ("OPENAI_BASE_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def ask_server(request: Request, **options: Any) -> tuple[Completion, FakeServer]:
    async with fake_openai() as server, closing(OpenAIModel("m", base_url=server.base_url, **options)) as model:
        return await model.generate(request), server


def ask(request: Request | str, **options: Any) -> Completion:
    request = Request(prompt=request) if isinstance(request, str) else request
    return asyncio.run(ask_server(request, **options))[0]


def sent(request: Request, **options: Any) -> dict[str, Any]:
    return asyncio.run(ask_server(request, **options))[1].bodies[0]


def failure_error(request: Request | str, **options: Any) -> FailureError:
    with pytest.raises(FailureError) as caught:
        ask(request, **options)
    return caught.value


@pytest.mark.parametrize("mode", ["chat", "completions"])
def test_it_keeps_the_contract_of_a_model(mode: str) -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with (
            fake_openai() as server,
            closing(OpenAIModel("m", base_url=server.base_url, mode=mode)) as model,  # type: ignore[arg-type]
        ):
            yield model

    check_model(make_one)


# -- embeddings

BAD_EMBEDDINGS = [
    '{"data": []}',
    '{"data": [{"embedding": []}]}',
    '{"data": [{"embedding": ["x"]}]}',
    '{"choices": []}',
]


@pytest.mark.parametrize("mode", ["chat", "completions"])
def test_an_embedding_is_asked_for_at_its_own_address(mode: str) -> None:
    request = Request(prompt="naïve 東京 aie", embed=True)
    answer, server = asyncio.run(ask_server(request, mode=mode, extra={"dimensions": 5}))
    assert (answer.embedding, answer.text, answer.tokens_in) == ((2.0, 2.0, 1.0, 0.0, 0.0), "", 4)
    assert server.headers[0].startswith("POST /v1/embeddings ")
    assert server.bodies == [{"model": "m", "input": "naïve 東京 aie", "dimensions": 5}]


@pytest.mark.parametrize("body", BAD_EMBEDDINGS)
def test_an_answer_without_an_embedding_is_a_failure(body: str) -> None:
    assert failure_error(Request(prompt=f"behave: body {body}", embed=True)).failure.kind == "bad_output"


def test_what_goes_wrong_with_embeddings_has_its_name() -> None:
    limited = failure_error(Request(prompt="behave: status 429 1", embed=True)).failure
    assert (limited.kind, limited.retryable) == ("rate_limit", True)
    inside = failure_error(Request(prompt='behave: body {"error": {"code": 503, "message": "busy"}}', embed=True))
    assert (inside.failure.kind, inside.failure.retryable) == ("server_error", True)


# -- what is sent


def test_a_prompt_becomes_one_user_message_and_absent_parameters_stay_absent() -> None:
    assert sent(Request(prompt="hi")) == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_every_parameter_reaches_the_server() -> None:
    request = Request(
        prompt="hi",
        temperature=0.0,
        top_p=0.5,
        max_tokens=9,
        stop=("\n", "Q:"),
        seed=7,
        logprobs=2,
        response_format={"type": "json_object"},
        tools=[{"type": "function", "function": {"name": "f"}}],
        extra={"top_k": 3},
    )
    body = sent(request, extra={"top_k": 1, "min_p": 0.1})
    del body["messages"], body["model"]
    assert body == {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_tokens": 9,
        "stop": ["\n", "Q:"],
        "seed": 7,
        "logprobs": True,
        "top_logprobs": 2,
        "response_format": {"type": "json_object"},
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "top_k": 3,
        "min_p": 0.1,
    }


def test_messages_keep_an_empty_content_and_their_tool_calls() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = (
        Message(role="system", content=""),
        Message(role="assistant", tool_calls=[call]),
        Message(role="tool", content="4", tool_call_id="1"),
    )
    assert sent(Request(messages=messages))["messages"] == [
        {"role": "system", "content": ""},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "4", "tool_call_id": "1"},
    ]


def test_the_text_endpoint_gets_a_prompt() -> None:
    body = sent(Request(prompt="hi", max_tokens=4, logprobs=2), mode="completions")
    assert body == {"model": "m", "prompt": "hi", "max_tokens": 4, "logprobs": 2}


def test_the_name_of_the_token_limit_can_be_chosen() -> None:
    assert (
        sent(Request(prompt="hi", max_tokens=4), max_tokens_field="max_completion_tokens")["max_completion_tokens"] == 4
    )


def test_the_key_is_sent_as_a_bearer_token_and_without_one_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _, server = asyncio.run(ask_server(Request(prompt="hi")))
    assert f"Authorization: Bearer {KEY}" in server.headers[0]
    _, server = asyncio.run(ask_server(Request(prompt="hi"), api_key_header="api-key"))
    assert f"api-key: {KEY}" in server.headers[0]
    monkeypatch.delenv("OPENAI_API_KEY")
    _, server = asyncio.run(ask_server(Request(prompt="hi")))
    assert "authorization" not in server.headers[0].lower()


def test_the_base_url_comes_from_the_environment_and_keeps_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    async def heads() -> list[str]:
        async with fake_openai() as server:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/?api-version=2")
            async with closing(OpenAIModel("m")) as model:
                await model.generate(Request(prompt="hi"))
            return server.headers

    assert asyncio.run(heads())[0].startswith("POST /v1/chat/completions?api-version=2 ")


# -- what is read


def test_usage_finish_reason_and_time_are_kept() -> None:
    completion = ask("compute: 2 + 3")
    assert completion.text == "5"
    assert completion.finish_reason == "stop"
    assert (completion.tokens_in, completion.tokens_out, completion.tokens_cached) == (7, 1, 3)
    assert completion.seconds > 0


def test_logprobs_have_one_shape_in_both_modes() -> None:
    chat = ask(Request(prompt="word", logprobs=1)).logprobs
    text = ask(Request(prompt="word", logprobs=1), mode="completions").logprobs
    assert chat == [{"token": "word", "logprob": -0.5, "top_logprobs": [{"token": "word", "logprob": -0.5}]}]
    assert text == [{"token": "word", "logprob": -1.0, "top_logprobs": [{"token": "word", "logprob": -1.0}]}]


def test_a_continuation_is_scored_by_the_tokens_it_consists_of() -> None:
    completion = ask(Request(prompt="one two", continuation=" three four"), mode="completions")
    assert completion.logprob == -2.0
    assert completion.text == " three four"


@pytest.mark.parametrize(
    ("finish", "message", "expected"),
    [
        ("stop", {"content": ""}, {"text": ""}),
        ("stop", {"content": "4", "reasoning_content": "2+2"}, {"text": "4", "reasoning": "2+2"}),
        ("stop", {"content": "4", "reasoning": "2+2"}, {"text": "4", "reasoning": "2+2"}),
        ("stop", {"content": None, "refusal": "I will not"}, {"text": "I will not", "refusal": "I will not"}),
        ("tool_calls", {"content": None, "tool_calls": [{"id": "1"}]}, {"text": "", "tool_calls": [{"id": "1"}]}),
        ("length", {"content": None, "reasoning": "hmm"}, {"text": "", "reasoning": "hmm"}),
        ("stop", {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"text": "ab"}),
    ],
)
def test_every_kind_of_answer_is_read(finish: str, message: dict[str, Any], expected: dict[str, Any]) -> None:
    completion = ask(f"behave: message {finish} {json.dumps(message)}")
    assert completion.finish_reason == finish
    assert {name: getattr(completion, name) for name in expected} == expected


def test_the_whole_answer_is_kept_on_request() -> None:
    body = {"choices": [{"message": {"content": "x"}}], "citations": ["a.html"], "model": "m-2024"}
    assert ask(f"behave: body {json.dumps(body)}", keep_raw=True).raw == body
    assert ask(f"behave: body {json.dumps(body)}").raw == {"model": "m-2024"}


# -- what can go wrong


@pytest.mark.parametrize(
    ("behaviour", "kind", "retryable", "says"),
    [
        ("status 429 1", "rate_limit", True, "scripted 429"),
        ("status 429 1 code=insufficient_quota", "rate_limit", False, ""),
        ("status 500 1", "server_error", True, ""),
        ("status 503 1", "server_error", True, ""),
        ("status 529 1", "server_error", True, ""),
        ("status 408 1", "server_error", True, ""),
        ("status 409 1", "server_error", True, ""),
        ("status 425 1", "server_error", True, ""),
        ("status 500 1 x-should-retry=false", "server_error", False, ""),
        ("status 401 1", "auth", False, ""),
        ("status 403 1", "auth", False, ""),
        ("status 400 1", "bad_request", False, "scripted 400"),
        ("status 404 1", "bad_request", False, ""),
        ("status 422 1", "bad_request", False, ""),
        ("status 400 1 code=context_length_exceeded", "too_long", False, ""),
        ("status 400 1 code=content_filter", "refused", False, ""),
        ("redirect", "bad_request", False, "elsewhere.example"),
        ("wrong_type", "bad_output", True, "text/html"),
        ("invalid_json", "bad_output", True, "cannot be read"),
        ("not_utf8", "bad_output", True, "cannot be read"),
        ('body {"choices": []}', "bad_output", True, "no choices"),
        ("body []", "bad_output", False, "cannot be read"),
        ('body {"choices": [{"message": {"content": 5}}]}', "bad_output", False, "cannot be read"),
        ('body {"choices": [{}]}', "bad_output", False, "without a message"),
        ('body {"error": {"message": "upstream", "code": 502}}', "server_error", True, "upstream"),
        ('body {"error": {"message": "slow down", "code": 429}}', "rate_limit", True, "slow down"),
        ('message stop {"content": null}', "bad_output", False, "no content"),
        ('message content_filter {"content": "par"}', "refused", False, "filter"),
        ("cut", "connection", True, "127.0.0.1"),
        ("hang_up", "connection", True, "127.0.0.1"),
        ("huge 70000000", "bad_output", False, "bytes"),
    ],
)
def test_each_misbehaviour_has_its_failure(behaviour: str, kind: str, retryable: bool, says: str) -> None:
    failure = failure_error(f"behave: {behaviour}").failure
    assert (failure.stage, failure.part) == ("model", "openai:m")
    assert (failure.kind, failure.retryable) == (kind, retryable)
    assert says in failure.message
    assert failure.message.isprintable()
    assert len(failure.message) < 700


def test_after_a_passing_failure_the_same_model_answers() -> None:
    async def twice() -> tuple[str, str, int]:
        async with fake_openai() as server, closing(OpenAIModel("m", base_url=server.base_url)) as model:
            request = Request(prompt="behave: status 429 1 Retry-After=2\ncompute: 4 + 5")
            with pytest.raises(FailureError) as caught:
                await model.generate(request)
            assert caught.value.retry_after_seconds == 2.0
            completion = await model.generate(request)
            return caught.value.failure.kind, completion.text, server.seen[request.prompt or ""]

    assert asyncio.run(twice()) == ("rate_limit", "9", 2)


def test_a_timeout_is_a_failure() -> None:
    failure = failure_error("behave: slow 30", timeout_seconds=0.05).failure
    assert (failure.kind, failure.retryable) == ("timeout", True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"}, 0.02),
        ({"x-ratelimit-remaining-requests": "4", "x-ratelimit-reset-requests": "20ms"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_every_dialect_of_retry_after_is_read(headers: dict[str, str], seconds: float | None) -> None:
    now = datetime(2015, 10, 21, 7, 28, 0, tzinfo=UTC)
    assert retry_after_seconds(headers, now) == seconds


@given(st.text())
def test_no_retry_after_breaks_the_reader(said: str) -> None:
    for name in ("retry-after", "retry-after-ms", "x-ratelimit-reset-tokens"):
        seconds = retry_after_seconds({name: said, "x-ratelimit-remaining-tokens": "0"})
        assert seconds is None or seconds >= 0


@given(st.binary())
def test_no_bytes_break_the_reader_in_a_new_way(body: bytes) -> None:
    import msgspec

    try:
        _decode_reply(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass


@pytest.mark.parametrize(
    ("options", "request_", "says"),
    [
        ({}, Request(prompt="a", continuation="b"), "mode=completions"),
        ({"mode": "completions"}, Request(prompt="a", tools=[{}]), "mode=chat"),
        ({"mode": "completions"}, Request(messages=(Message(role="user", content=[{"type": "text"}]),)), "only text"),
    ],
)
def test_what_an_endpoint_cannot_do_is_reported_before_the_call(
    options: dict[str, Any], request_: Request, says: str
) -> None:
    failure = failure_error(request_, **options).failure
    assert failure.kind == "unsupported"
    assert says in failure.message


# -- secrets


@pytest.mark.parametrize("status", ["401", "400", "500", "429"])
def test_a_key_the_server_repeats_is_not_in_the_failure(status: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error = failure_error(f"behave: echo_key {status}")
    assert "Incorrect API key" in error.failure.message
    chain = f"{error!r} {error} {error.failure!r} {error.__cause__!r}"
    assert KEY not in chain
    assert KEY not in caplog.text
    assert error.failure.message.isprintable()


def test_the_key_is_in_nothing_that_is_shown_or_written() -> None:
    model = OpenAIModel("m", base_url="http://localhost:1/v1")
    assert KEY not in f"{model!r} {model} {model.settings!r} {model.name}"
    assert model.settings["base_url"] == "http://localhost:1/v1"


@pytest.mark.parametrize(
    "options",
    [
        {"extra": {"user": f"me {KEY}"}},
        {"base_url": f"http://localhost/v1?tenant={KEY}"},
        {"base_url": "http://me:pass@localhost/v1"},
        {"base_url": "http://localhost/v1?api_key=abc"},
    ],
)
def test_options_that_hold_a_secret_are_refused_without_showing_it(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        OpenAIModel("m", **{"base_url": "http://localhost/v1", **options})
    assert KEY not in str(caught.value)
    assert "environment variable" in str(caught.value) or "api_key_env" in str(caught.value)


def test_the_official_server_needs_a_key_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        OpenAIModel("m").require_key()
    with pytest.raises(UsageError, match="MY_KEY"):
        OpenAIModel("m", api_key_env="MY_KEY").require_key()
    OpenAIModel("m", base_url="http://localhost:8000/v1").require_key()


def test_a_key_with_a_line_end_inside_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a\r\nX-Evil: 1")
    with pytest.raises(UsageError) as caught:
        OpenAIModel("m")
    assert "Evil" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"base_url": "localhost:8000"}, "http://"),
        ({"base_url": "http://localhost:99999/v1"}, "base_url"),
        ({"base_url": "http://[bad/v1"}, "base_url"),
        ({"timeout_seconds": "fast"}, "timeout_seconds"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"extra": "top_k=1"}, "extra"),
        ({"mode": "chats"}, "chat, completions"),
        ({"max_tokens_field": "tokens"}, "max_completion_tokens"),
    ],
)
def test_a_wrong_option_is_answered_with_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        OpenAIModel("m", **options)


def test_the_factory_needs_a_model_name() -> None:
    assert make("gpt-x").name == "openai:gpt-x"
    with pytest.raises(UsageError, match="openai:MODEL"):
        make("")


def test_an_answer_kept_whole_has_another_place_in_the_cache() -> None:
    plain, whole = (OpenAIModel("m", base_url="http://127.0.0.1:9/v1", keep_raw=keep) for keep in (False, True))
    assert plain.settings != whole.settings
    assert plain.settings == OpenAIModel("m", base_url="http://127.0.0.1:9/v1").settings


def test_a_missing_v1_is_suggested_where_the_address_is_not_found() -> None:
    async def failure_at(path: str) -> str:
        async with fake_openai() as server:
            address = server.base_url.removesuffix("/v1") + path
            async with closing(OpenAIModel("m", base_url=address)) as model:
                with pytest.raises(FailureError) as caught:
                    await model.generate(Request(prompt="behave: status 404 1"))
                return caught.value.failure.message.replace(server.base_url, "BASE")

    assert asyncio.run(failure_at("")).endswith("; base URLs of most servers end in /v1: BASE")
    assert "/v1:" not in asyncio.run(failure_at("/v1"))
