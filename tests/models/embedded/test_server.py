"""`assay model serve` over real HTTP, with a tiny model that the test makes itself."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.embedded import tiny_llama

pytest.importorskip("gguf", reason="needs the extra `embedded`")
pytest.importorskip("tokenizers", reason="needs the extra `embedded`")

from tests.models.embedded.serving import post, started

from assay.core.seams import close_part
from assay.models.embedded.engine import log_softmax
from assay.models.likelihood.token_texts import TokenTexts
from assay.models.model_names import make_model
from assay.scorers.embedding import cosine, similarity_of


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


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
def test_an_echo_has_the_likelihood_of_every_token_but_the_first(address: str, texts: TokenTexts, most: int) -> None:
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


def test_equal_requests_without_a_seed_get_an_answer_each(address: str) -> None:
    body = {"prompt": "say", "max_tokens": 12, "temperature": 1.5}
    texts = {post(f"{address}/v1/completions", body)["choices"][0]["text"] for _ in range(3)}
    assert len(texts) == 3


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
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0
    assert said.splitlines()[-1] == "ended"
    assert "Traceback" not in said
    with pytest.raises(urllib.error.URLError):
        get(f"{address}/health")


def test_a_port_in_use_is_a_sentence(cache: Path, address: str) -> None:
    process = started(cache, "--port", address.rpartition(":")[2])
    _, said = process.communicate(timeout=300)
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


def test_embeddings_are_served_as_numbers_and_as_bytes(address: str) -> None:
    asked = {"model": "tiny", "input": ["in the thing", "in", "in the thing"]}
    found = post(f"{address}/v1/embeddings", asked)
    vectors = [each["embedding"] for each in found["data"]]
    assert [each["index"] for each in found["data"]] == [0, 1, 2]
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-5)
    assert len(vectors[0]) == tiny_llama.SHAPE["width"]
    assert cosine(vectors[0], vectors[1]) < 0.9999
    assert found["usage"]["prompt_tokens"] > 3
    (packed,) = post(f"{address}/v1/embeddings", {"input": "in the thing", "encoding_format": "base64"})["data"]
    bits = np.frombuffer(base64.b64decode(packed["embedding"]), "<f4")
    np.testing.assert_allclose(bits, vectors[0], atol=1e-5)


@pytest.mark.parametrize(
    ("body", "status"),
    [({"input": ""}, 400), ({"input": []}, 400), ({"input": "x", "dimensions": 3}, 400), ({"input": "x " * 999}, 400)],
)
def test_texts_that_cannot_be_embedded_are_refused(address: str, body: dict[str, Any], status: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(f"{address}/v1/embeddings", body)
    assert caught.value.code == status
    assert json.load(caught.value)["error"]["message"]


def test_the_adapter_compares_texts_by_the_embeddings_of_the_server(address: str) -> None:
    async def compare() -> tuple[float, float]:
        model = make_model(f"openai:tiny@{address}/v1")
        try:
            return await similarity_of(model, "in the thing", "in the thing"), await similarity_of(model, "in", "th")
        finally:
            await close_part(model)

    same, other = asyncio.run(compare())
    assert same == pytest.approx(1.0, abs=1e-6)
    assert other < same
