"""Whatever a server puts into its answer, it is read or it is a failure with a kind; and the key is in neither."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.contracts.model import closing
from tests.servers.raw_server import http, raw_server

from assay.core.errors import FailureError
from assay.core.types import Completion, Request
from assay.models.http_model import HttpModel
from assay.models.openai_http import OpenAIModel

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
