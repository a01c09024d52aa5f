"""Whatever a server puts into its answer, it is read or it is a failure with a kind; and the key is in neither."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.contracts.model import closing
from tests.servers.raw_server import http, raw_server

from assay.core.errors import FailureError, UsageError
from assay.core.types import Completion, Request
from assay.models.adapters.anthropic import AnthropicModel
from assay.models.adapters.gemini import GeminiModel
from assay.models.adapters.http_model import HttpModel
from assay.models.adapters.openai import OpenAIModel

KEY = "sk-test-1234567890-secret"
DEEP = b"[" * 20_000 + b"]" * 20_000


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def ask(answer: bytes, request: Request | None = None, **options: Any) -> Completion:
    async def one() -> Completion:
        async with raw_server(answer) as url:
            model: HttpModel = OpenAIModel("m", base_url=url, timeout_seconds=10, **options)
            async with closing(model):
                return await model.generate(request or Request(prompt="x"))  # type: ignore[attr-defined, no-any-return]

    return asyncio.run(one())


def chat(message: dict[str, Any] | None = None, finish_reason: str = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message or {"content": "hi"}, "finish_reason": finish_reason}], **more}


def echoed(**logprobs: Any) -> bytes:
    told = {"tokens": ["a", "b"], "token_logprobs": [-1, -2], **logprobs}
    return http({"choices": [{"text": "b", "logprobs": told}], "usage": {"completion_tokens": 0}})


@pytest.mark.parametrize(
    ("answer", "kind", "retryable"),
    [
        (http(b'{"choices":[{"message":{"content":"hi"},"logprobs":{"content":' + DEEP + b"}}]}"), "bad_output", False),
        (http(b'{"choices":[],"error":' + DEEP + b"}"), "bad_output", False),
        (http(b'{"choices":[{"message":{"content":"hi"}}],"unknown":' + DEEP + b"}"), "bad_output", False),
        (http(DEEP, status="503 Busy"), "server_error", True),
        (http({"error": {"details": 5, "message": "no"}}, status="503 Busy"), "server_error", True),
        (http({"error": {"code": 10**30, "message": "no"}}), "server_error", True),
        (http(b"", "Location: http://[::1/", status="302 Found"), "bad_request", False),
    ],
)
def test_an_answer_made_to_break_the_reader_is_a_failure_of_its_own_kind(
    answer: bytes, kind: str, retryable: bool
) -> None:
    with pytest.raises(FailureError) as caught:
        ask(answer)
    assert (caught.value.failure.kind, caught.value.failure.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    "answer",
    [
        http(chat(), content_type=f"text/{KEY}"),
        http(chat({"content": None}, finish_reason=f"\x1b[31m{KEY}")),
        http(b"", f"Location: http://{KEY}.example/", status="302 Found"),
        http(b" " * 3990 + KEY.encode(), status="400 Bad Request"),
    ],
)
def test_no_field_brings_the_key_or_a_control_character_into_a_failure(answer: bytes) -> None:
    with pytest.raises(FailureError) as caught:
        ask(answer)
    message = caught.value.failure.message
    assert message.isprintable()
    assert KEY[:9] not in message


@pytest.mark.parametrize(
    "body",
    [
        chat({"content": f"I was sent {KEY}"}),
        chat(model=KEY, system_fingerprint=KEY),
        chat({"content": None, "tool_calls": [{"function": {"name": KEY, "arguments": "{}"}}]}),
    ],
)
def test_a_server_that_repeats_the_key_in_its_answer_does_not_bring_it_into_the_journal(body: dict[str, Any]) -> None:
    for keep_raw in (False, True):
        written = msgspec.json.encode(ask(http(body), keep_raw=keep_raw))
        assert KEY.encode() not in written
        assert b"[key]" in written


ESCAPED = KEY.replace("-", "\\u002d")
HALVES = [KEY[:11], KEY[11:]]
TOKENS = [{"token": character, "logprob": -1.0, "bytes": [ord(character)], "top_logprobs": []} for character in KEY]
ENTRIES = [{"token": each, "logProbability": -1.0} for each in KEY]
CHAT = {
    "text": '{"content": "it is KEY"}, "finish_reason": "stop"',
    "reasoning": '{"content": "x", "reasoning_content": "it is KEY"}',
    "refusal": '{"content": null, "refusal": "it is KEY"}',
    "finish reason": '{"content": "x"}, "finish_reason": "KEY"',
    "tool call": '{"tool_calls": [{"id": "KEY", "function": {"name": "f", "arguments": "{\\"a\\": \\"KEY\\"}"}}]}',
    "token": '{"content": "x"}, "logprobs": {"content": [{"token": "KEY", "top_logprobs": [{"token": "KEY"}]}]}',
}


@pytest.mark.parametrize("place", CHAT)
@pytest.mark.parametrize("key", [KEY, ESCAPED, KEY.replace("s", "\\u0073"), KEY.upper(), " ".join(KEY), KEY[::-1]])
def test_no_string_of_an_answer_holds_the_key_once_it_is_decoded(place: str, key: str) -> None:
    body = '{"choices": [{"message": ' + CHAT[place].replace("KEY", key) + '}], "model": "' + key + '"}'
    for keep_raw in (False, True):
        written = msgspec.json.encode(ask(http(body.encode()), keep_raw=keep_raw)).decode()
        assert "[key]" in written
        for form in (KEY, KEY.upper(), " ".join(KEY), KEY[::-1]):
            assert form not in written


@pytest.mark.parametrize(
    "body",
    [
        chat({"content": [{"type": "text", "text": half} for half in HALVES]}),
        {"choices": [{"message": {"content": "x"}, "logprobs": {"content": TOKENS}}]},
    ],
)
@pytest.mark.parametrize("keep_raw", [False, True])
def test_a_key_in_pieces_is_not_put_together(body: dict[str, Any], keep_raw: bool) -> None:
    done = ask(http(body), keep_raw=keep_raw)
    tokens = [entry["token"] for entry in done.logprobs or ()]
    numbers = [number for entry in done.logprobs or () for number in entry["bytes"]]
    for text in (done.text, "".join(tokens), bytes(numbers).decode()):
        assert KEY not in text
    written = msgspec.json.encode(done).decode()
    assert "[key]" in written
    assert not any(half in written for half in HALVES)


@pytest.mark.parametrize(
    ("adapter", "body"),
    [
        (AnthropicModel, {"content": [{"type": "text", "text": half} for half in HALVES]}),
        (AnthropicModel, {"content": [{"type": "thinking", "thinking": half} for half in HALVES]}),
        (
            AnthropicModel,
            {"content": [{"type": "tool_use", "id": KEY, "name": "f", "input": {"a": KEY}}], "model": KEY},
        ),
        (GeminiModel, {"candidates": [{"content": {"parts": [{"text": half} for half in HALVES]}}]}),
        (GeminiModel, {"candidates": [{"content": {"parts": [{"text": half, "thought": True} for half in HALVES]}}]}),
        (
            GeminiModel,
            {"candidates": [{"content": {"parts": [{"text": "x"}]}, "logprobsResult": {"chosenCandidates": ENTRIES}}]},
        ),
    ],
)
def test_nor_by_the_other_adapters(
    adapter: type[HttpModel], body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one() -> Completion:
        async with raw_server(http(body)) as url:
            model = adapter("m", base_url=url, timeout_seconds=10, api_key_env="OPENAI_API_KEY")  # type: ignore[call-arg]
            async with closing(model):
                return await model.generate(Request(prompt="x"))  # type: ignore[attr-defined, no-any-return]

    done = asyncio.run(one())
    written = msgspec.json.encode(done).decode()
    assert "[key]" in written
    assert KEY not in written
    assert KEY not in "".join(entry["token"] for entry in done.logprobs or ())


@pytest.mark.parametrize("name", ["sk-live-0123456789abcdef", "gsk_0123456789abcdefghij", "", "A KEY"])
def test_a_key_where_its_name_belongs_is_refused_and_not_repeated(name: str) -> None:
    for options in ({"api_key_env": name}, {"api_key_env": name, "base_url": "http://127.0.0.1:1/v1"}):
        with pytest.raises(UsageError, match="must be the name of an environment variable") as caught:
            OpenAIModel("m", **options)
        assert not name or name not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://h/v1?subscription-key={}", "http://h/v1?x=1&accessToken={}", "http://u:{}@h/v1"]
)
def test_a_credential_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(UsageError, match="base_url contains") as caught:
        OpenAIModel("m", base_url=address.format("s3cret-0123456789"))
    assert "s3cret" not in str(caught.value)
    OpenAIModel("m", base_url="https://h/openai/v1?api-version=2024-10-21-preview")


def test_a_word_in_place_of_a_key_stays_in_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")  # what servers without keys are often given
    assert ask(http(chat({"content": "the set is EMPTY"}))).text == "the set is EMPTY"


@pytest.mark.parametrize("told", [-5, 10**300])
def test_a_count_that_can_be_none_is_unknown_and_costs_no_answer(told: int) -> None:
    details = {"cached_tokens": told}
    usage = {"prompt_tokens": told, "completion_tokens": told, "prompt_tokens_details": details}
    done = ask(http(chat(usage=usage)))
    assert (done.text, done.tokens_in, done.tokens_out, done.tokens_cached) == ("hi", None, None, None)


@pytest.mark.parametrize("top", [[["a"], ["b"]], {"a": 1}, "ab", [{"a": -1}], 7])
def test_alternatives_of_another_shape_are_left_out_and_cost_no_answer(top: Any) -> None:
    done = ask(echoed(top_logprobs=top), mode="completions")
    assert [entry["token"] for entry in done.logprobs or ()] == ["a", "b"]


@pytest.mark.parametrize(
    "logprobs",
    [
        {"text_offset": ["a", "b"]},
        {"text_offset": [None, None]},
        {"token_logprobs": [-1, 10**400]},
        {"token_logprobs": [-1, "x"]},
    ],
)
def test_likelihoods_of_another_shape_are_a_failure(logprobs: dict[str, Any]) -> None:
    with pytest.raises(FailureError) as caught:
        ask(echoed(**logprobs), Request(prompt="a", continuation="b"), mode="completions")
    assert caught.value.failure.kind in ("bad_output", "unsupported")


def test_many_tokens_without_places_are_read_in_one_pass() -> None:
    # for each token all tokens before it used to be counted: half a minute for this answer, and nothing else could run
    many = 60_000
    done = ask(echoed(tokens=["a"] * many, token_logprobs=[-1.0] * many), mode="completions")
    assert len(done.logprobs or ()) == many
