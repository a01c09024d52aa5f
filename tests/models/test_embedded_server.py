"""`assay model serve` over real HTTP, with a tiny model that the test makes itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models import tiny_llama

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")

from assay.models import embedded_weights
from assay.models.embedded_engine import log_softmax
from assay.models.token_texts import TokenTexts

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder in which the tiny model lies where the embedded one would."""
    place = tmp_path_factory.mktemp("cache")
    folder = place / "models" / embedded_weights.model_folder().name
    folder.mkdir(parents=True)
    gguf = tiny_llama.write_gguf(folder / "model.gguf")
    embedded_weights.convert(gguf, folder, about={"name": "tiny", "licence": "none", "sha256": "0"})
    return place


def started(cache: Path, *flags: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "ASSAY_CACHE": str(cache), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "assay", "model", "serve", "--port", "0", "--workers", "1", *flags]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def address(cache: Path) -> Iterator[str]:
    process = started(cache)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def texts(cache: Path) -> TokenTexts:
    return TokenTexts(cache / "models" / embedded_weights.model_folder().name / "tokenizer.json")


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def post(url: str, body: Any) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=60) as answer:
        return json.load(answer)


def error_of(url: str, body: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(url, body)
    with caught.value as error:
        return error.code, json.load(error)["error"]


def plain_logprobs(tokens: list[int]) -> list[float]:
    """Of every token but the first, the most straightforward way."""
    rows = log_softmax(tiny_llama.reference_logits(tokens))
    return [float(row[token]) for row, token in zip(rows, tokens[1:], strict=False)]


def test_it_says_what_it_is(address: str) -> None:
    assert get(f"{address}/health") == {"status": "ok"}
    (card,) = get(f"{address}/v1/models")["data"]
    assert (card["id"], card["max_model_len"]) == ("tiny", tiny_llama.SHAPE["context"])
    assert get(f"{address}/v1/models/tiny")["id"] == "tiny"


@pytest.mark.parametrize("most", [0, 1])
def test_an_echo_tells_the_likelihood_of_every_token_but_the_first(address: str, texts: TokenTexts, most: int) -> None:
    prompt = "in the €thing"
    body = {"prompt": prompt, "max_tokens": most, "echo": True, "logprobs": 2}
    (choice,) = post(f"{address}/v1/completions", body)["choices"]
    told = choice["logprobs"]
    tokens = texts.encode(prompt)
    assert choice["text"].startswith(prompt)
    assert len(told["tokens"]) == len(told["token_logprobs"]) == len(told["text_offset"]) == len(tokens) + most
    assert (told["token_logprobs"][0], told["top_logprobs"][0]) == (None, None)
    np.testing.assert_allclose(told["token_logprobs"][1 : len(tokens)], plain_logprobs(tokens), atol=1e-3)
    assert told["text_offset"][: len(tokens)] == texts.offsets(tokens)
    for token, top, logprob in list(zip(told["tokens"], told["top_logprobs"], told["token_logprobs"], strict=True))[1:]:
        assert top[token] == logprob
        assert 2 <= len(top) <= 3


def test_texts_and_token_numbers_one_or_many_get_the_same_answer(address: str, texts: TokenTexts) -> None:
    first, second = "in the", "thing"
    numbers = [texts.encode(first), texts.encode(second)]
    shape = {"max_tokens": 4, "echo": True, "logprobs": 0}
    several, counted = (post(f"{address}/v1/completions", {"prompt": p, **shape}) for p in ([first, second], numbers))
    alone = post(f"{address}/v1/completions", {"prompt": numbers[1], **shape})
    assert [choice["text"] for choice in several["choices"]] == [choice["text"] for choice in counted["choices"]]
    assert alone["choices"][0]["text"] == several["choices"][1]["text"]
    assert [choice["index"] for choice in several["choices"]] == [0, 1]
    assert several["usage"] == {
        "prompt_tokens": sum(map(len, numbers)),
        "completion_tokens": 8,
        "total_tokens": sum(map(len, numbers)) + 8,
    }
    assert alone["choices"][0]["logprobs"]["top_logprobs"] is None


def test_a_chat_is_answered_with_usage_and_alternatives(address: str) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    answer = post(f"{address}/v1/chat/completions", {**body, "logprobs": True, "top_logprobs": 2})
    (choice,) = answer["choices"]
    assert (choice["message"]["role"], choice["finish_reason"]) == ("assistant", "length")
    assert answer["usage"]["completion_tokens"] == 5
    assert [len(entry["top_logprobs"]) for entry in choice["logprobs"]["content"]] == [2] * 5


def test_chance_belongs_to_the_seed_and_the_number(address: str) -> None:
    body = {"prompt": "say", "max_tokens": 12, "temperature": 1.5, "seed": 3, "n": 2}
    first, second = (post(f"{address}/v1/completions", body)["choices"] for _ in range(2))
    assert [each["text"] for each in first] == [each["text"] for each in second]
    assert first[0]["text"] != first[1]["text"]
    other = post(f"{address}/v1/completions", {**body, "seed": 4})["choices"]
    assert other[0]["text"] != first[0]["text"]


def test_a_stop_text_is_cut_off_with_its_tokens(address: str) -> None:
    whole = post(f"{address}/v1/completions", {"prompt": "hi", "max_tokens": 8})["choices"][0]["text"]
    stop = whole[3]
    body = {"prompt": "hi", "max_tokens": 8, "stop": stop, "logprobs": 1}
    (choice,) = post(f"{address}/v1/completions", body)["choices"]
    assert (choice["text"], choice["finish_reason"]) == (whole[: whole.index(stop)], "stop")
    assert all(begin < len(choice["text"]) for begin in choice["logprobs"]["text_offset"])


def test_many_at_once_get_their_own_answers(address: str) -> None:
    bodies = [{"prompt": f"say {n}", "max_tokens": 6} for n in range(12)]

    def ask(body: Any) -> str:
        return str(post(f"{address}/v1/completions", body)["choices"][0]["text"])

    with ThreadPoolExecutor(12) as threads:
        assert list(threads.map(ask, bodies)) == [ask(body) for body in bodies]


def events(address: str, path: str, body: dict[str, Any]) -> list[Any]:
    """What a stream tells, without its end."""
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


CHAT = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/completions", b'{"prompt', 400, "not JSON"),
        ("/v1/completions", {}, 400, "prompt"),
        ("/v1/completions", {"prompt": 3}, 400, "prompt"),
        ("/v1/completions", {"prompt": []}, 400, "empty list"),
        ("/v1/completions", {"prompt": [[1, "a"]]}, 400, "token numbers"),
        ("/v1/completions", {"prompt": [99999]}, 400, "outside 0 to 261"),
        ("/v1/completions", {"prompt": "a", "max_tokens": 0}, 400, "at least 1"),
        ("/v1/completions", {"prompt": "a", "max_tokens": -1, "echo": True}, 400, "at least 0"),
        ("/v1/completions", {"prompt": "a", "temperature": "hot"}, 400, "temperature"),
        ("/v1/completions", {"prompt": "a", "temperature": -1}, 400, "temperature"),
        ("/v1/completions", {"prompt": "a", "top_p": 0}, 400, "top_p"),
        ("/v1/completions", {"prompt": "a", "logprobs": 99}, 400, "between 0 and 20"),
        ("/v1/completions", {"prompt": "a", "logit_bias": {"3": 1}}, 400, "logit_bias"),
        ("/v1/completions", {"prompt": ["a"] * 300}, 400, "at most 256"),
        ("/v1/completions", {"prompt": "x" * 500}, 400, "can read 96"),
        ("/v1/completions", {"prompt": "a", "model": "gpt-9"}, 404, "the one there is is called `tiny`"),
        ("/v1/chat/completions", {"messages": []}, 400, "at least one message"),
        ("/v1/chat/completions", {**CHAT, "tools": [{"type": "function"}]}, 400, "no tools"),
        ("/v1/chat/completions", {**CHAT, "max_tokens": 0}, 400, "at least 1"),
        ("/v1/nowhere", {}, 404, "/v1/nowhere"),
        ("/health", {}, 405, "POST /health"),
    ],
)
def test_a_bad_request_is_told_why(address: str, path: str, body: Any, status: int, says: str) -> None:
    code, error = error_of(address + path, body)
    assert (code, error["type"]) == (status, "invalid_request_error")
    assert says in error["message"]


def test_only_loopback_names_are_listened_to(address: str) -> None:
    request = urllib.request.Request(f"{address}/health", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=60)
    with caught.value as error:
        assert error.code == 403


def test_tokens_can_be_had_both_ways(address: str, texts: TokenTexts) -> None:
    told = post(f"{address}/tokenize", {"prompt": "the €", "add_special_tokens": False})
    assert told == {"tokens": texts.encode("the €"), "count": len(texts.encode("the €")), "max_model_len": 96}
    assert post(f"{address}/detokenize", {"tokens": told["tokens"]}) == {"prompt": "the €"}
    assert get(f"{address}/tokenizer_info")["eos_token"] == "<|im_end|>"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_told_to(cache: Path, number: signal.Signals) -> None:
    process = started(cache)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    post(f"{address}/v1/completions", {"prompt": "hi"})
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert said.splitlines()[-1] == "ended"
    assert "Traceback" not in said
    with pytest.raises(urllib.error.URLError):
        get(f"{address}/health")


def test_a_port_in_use_is_a_sentence(cache: Path, address: str) -> None:
    process = started(cache, "--port", address.rpartition(":")[2])
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "choose another with --port" in said


def test_the_token_that_ends_a_text_is_among_its_tokens(address: str, texts: TokenTexts) -> None:
    """Programs that score prompts leave out the last token as the one that was written, so one must be there."""
    prompt = texts.encode("say")
    body = {"prompt": prompt, "max_tokens": 30, "echo": True, "logprobs": 1, "temperature": 2.0, "n": 64}
    answer = post(f"{address}/v1/completions", body)
    told = [(choice["finish_reason"], choice["logprobs"]["tokens"]) for choice in answer["choices"]]
    assert sum(len(tokens) - len(prompt) for _, tokens in told) == answer["usage"]["completion_tokens"]
    assert {tokens[-1] for reason, tokens in told if reason == "stop"} == {"<|im_end|>"}
