"""Answers piece by piece: streamed while they are written, side by side, whole where they must be."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from tests.models.embedded.serving import post

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")


def events(address: str, path: str, body: dict[str, Any]) -> list[Any]:
    """What a stream contains, without its end."""
    data = json.dumps({**body, "stream": True, "stream_options": {"include_usage": True}}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{address}{path}", data), timeout=60) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        *told, done = (line.removeprefix("data: ") for line in answer.read().decode().split("\n\n") if line)
    assert done == "[DONE]"
    return [json.loads(each) for each in told]


@pytest.mark.parametrize("stop", [None, "a", "\ufffd", "ab", "e "])
@pytest.mark.parametrize("prompt", ["hi", "say 3", "nothing much"])
def test_a_chat_comes_piece_by_piece(address: str, prompt: str, stop: str | None) -> None:
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 24, "stop": stop}
    plain = post(f"{address}/v1/chat/completions", body)
    *told, usage = events(address, "/v1/chat/completions", body)
    assert usage["usage"] == plain["usage"]
    choices = [each["choices"][0] for each in told]
    assert "".join(each["delta"]["content"] for each in choices) == plain["choices"][0]["message"]["content"]
    assert [each["finish_reason"] for each in choices] == [None] * (len(choices) - 1) + [
        plain["choices"][0]["finish_reason"]
    ]
    assert ["role" in each["delta"] for each in choices] == [True] + [False] * (len(choices) - 1)


def test_pieces_are_sent_while_the_rest_is_written(address: str) -> None:
    told = events(address, "/v1/completions", {"prompt": "one", "max_tokens": 40})
    assert len(told) > 10  # not the whole text at the end


def test_several_texts_are_streamed_side_by_side(address: str) -> None:
    body = {"prompt": ["one", "two"], "max_tokens": 8, "n": 2, "temperature": 1.0, "seed": 3}
    plain = post(f"{address}/v1/completions", body)
    *told, usage = events(address, "/v1/completions", body)
    assert usage["usage"] == plain["usage"]
    texts = ["", "", "", ""]
    for each in told:
        texts[each["choices"][0]["index"]] += each["choices"][0]["text"]
    assert texts == [each["text"] for each in plain["choices"]]


@pytest.mark.parametrize("extra", [{"echo": True}, {"logprobs": 1}, {"echo": True, "logprobs": 0}])
def test_what_is_whole_only_at_the_end_is_streamed_in_one_piece(address: str, extra: dict[str, Any]) -> None:
    body = {"prompt": "one", "max_tokens": 4, **extra}
    told, usage = events(address, "/v1/completions", body)
    plain = post(f"{address}/v1/completions", body)
    assert (told["choices"], usage["usage"]) == (plain["choices"], plain["usage"])


def test_a_stream_that_cannot_begin_is_an_error_with_its_status(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        events(address, "/v1/completions", {"prompt": "long " * 4000, "max_tokens": 4})
    assert caught.value.code == 400
    assert "context_length_exceeded" in caught.value.read().decode()


def test_whoever_leaves_a_stream_leaves_the_others_alone(address: str) -> None:
    data = json.dumps({"prompt": "one", "max_tokens": 200, "stream": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{address}/v1/completions", data), timeout=60) as answer:
        assert answer.readline().startswith(b"data: ")
    assert post(f"{address}/v1/completions", {"prompt": "two", "max_tokens": 3})["usage"]["completion_tokens"] == 3
