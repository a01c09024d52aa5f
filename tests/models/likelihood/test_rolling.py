"""Windows over long texts: each token once, with what fits before it; by the engine, and over HTTP."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.model import closing
from tests.models.embedded import tiny_llama

from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.models.likelihood.rolling import window_size, windows
from assay.models.model_names import make_model

LONG = list(range(1, 11))


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [
        (20, 0, [([0], LONG)]),
        (11, 0, [([0], LONG)]),
        # as lm-evaluation-harness does it: windows that share one token, the last one reaching back
        (5, 0, [([0], [1, 2, 3, 4]), ([4], [5, 6, 7, 8]), ([6, 7, 8], [9, 10])]),
        (5, 2, [([0], [1, 2, 3, 4]), ([2, 3, 4], [5, 6]), ([4, 5, 6], [7, 8]), ([6, 7, 8], [9, 10])]),
        (5, 99, [([0], [1, 2, 3, 4]), ([4], [5, 6, 7, 8]), ([6, 7, 8], [9, 10])]),
    ],
)
def test_windows(size: int, stride: int, expected: list[tuple[list[int], list[int]]]) -> None:
    assert list(windows([0], LONG, size=size, stride=stride)) == expected


def test_a_prompt_longer_than_a_window_is_read_as_far_as_it_fits() -> None:
    assert list(windows([1, 2, 3, 4, 5, 6], [7, 8, 9], size=4, stride=2)) == [([5, 6], [7, 8]), ([6, 7, 8], [9])]


@given(before=st.integers(1, 30), text=st.integers(1, 60), size=st.integers(2, 40), stride=st.integers(0, 40))
def test_every_token_is_scored_once_in_its_place_with_the_most_before_it(
    before: int, text: int, size: int, stride: int
) -> None:
    tokens = list(range(before + text))
    scored: list[int] = []
    for read, told in windows(tokens[:before], tokens[before:], size=size, stride=stride):
        assert read
        assert len(read) + len(told) <= size
        assert read + told == list(range(read[0], told[-1] + 1))
        assert read[0] == 0 or len(read) + len(told) == size
        scored += told
    assert scored == tokens[before:]


@pytest.mark.parametrize(("before", "size"), [([], 4), ([0], 1)])
def test_a_window_that_shows_nothing_is_refused(before: list[int], size: int) -> None:
    with pytest.raises(ValueError, match="a token to read"):
        list(windows(before, [1], size=size))


def test_a_window_is_never_longer_than_the_model_can_read() -> None:
    assert [window_size(asked, 10) for asked in (0, 4, 20)] == [10, 4, 10]


# -- a tiny model that can read 96 tokens, against the plainest way to compute the same -------------------------------

TEXT = " ".join(f"{n} in the thing" for n in range(14))
"""163 tokens and more."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gguf", reason="needs the extra `embedded`")
    pytest.importorskip("tokenizers", reason="needs the extra `embedded`")
    from assay.models.embedded import weights as embedded_weights

    place = tmp_path_factory.mktemp("tiny")
    gguf = tiny_llama.write_gguf(place / "model.gguf")
    embedded_weights.convert(gguf, place, about={"name": "tiny", "licence": "none", "sha256": "0"})
    return place


def directly(folder: Path, size: int, stride: int) -> tuple[float, int, int]:
    """(log-likelihood of the text, its tokens, windows), token by token in double precision."""
    from assay.models.embedded.engine import log_softmax
    from assay.models.likelihood.token_texts import TokenTexts

    tokens = [0, *TokenTexts(folder / "tokenizer.json").encode(TEXT)]
    total, begin, end, count = 0.0, 1, size, 0
    while begin < len(tokens):
        end = min(end, len(tokens))
        first = max(0, end - size)
        rows = log_softmax(tiny_llama.reference_logits(tokens[first:end]))
        total += math.fsum(float(rows[place - first - 1][tokens[place]]) for place in range(begin, end))
        begin, end, count = end, end + (stride or size - 1), count + 1
    return total, len(tokens) - 1, count


def by_engine(folder: Path, ask: Callable[[Model], object]) -> object:
    from assay.models.embedded.model import EmbeddedModel

    async def asked() -> object:
        async with closing(EmbeddedModel(folder=str(folder), workers=1)) as model:
            return await ask(model)  # type: ignore[misc]

    return asyncio.run(asked())


def over_http(folder: Path, ask: Callable[[Model], object]) -> object:
    from assay.models.embedded.server import EmbeddedServer, serve

    async def asked() -> object:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(serve(EmbeddedServer(folder, workers=1), 0, ready.set_result))
        try:
            await asyncio.wait({ready, serving}, return_when=asyncio.FIRST_COMPLETED)
            options = {"mode": "completions", "document_mark": "<|endoftext|>"}
            async with closing(make_model(f"openai:tiny@{ready.result()}/v1", options)) as model:
                return await ask(model)  # type: ignore[misc]
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    return asyncio.run(asked())


@pytest.mark.parametrize(("size", "stride"), [(0, 0), (0, 40), (24, 0), (24, 8)])
@pytest.mark.parametrize("door", [by_engine, over_http])
def test_a_long_text_is_scored_in_windows(
    folder: Path, door: Callable[[Path, Callable[[Model], object]], object], size: int, stride: int
) -> None:
    found = door(folder, lambda model: model.generate(Request(prompt="", continuation=TEXT, rolling=(size, stride))))
    assert isinstance(found, Completion)
    longest = 97 if door is by_engine else 95  # the last token is not read; a server always writes one more
    total, tokens, count = directly(folder, size or longest, stride)
    assert found.logprob == pytest.approx(total, abs=5e-3)
    assert found.raw == {"continuation_tokens": tokens, "windows": count}


@pytest.mark.parametrize("door", [by_engine, over_http])
def test_without_leave_to_roll_it_is_too_long(
    folder: Path, door: Callable[[Path, Callable[[Model], object]], object]
) -> None:
    with pytest.raises(FailureError) as caught:
        door(folder, lambda model: model.generate(Request(prompt="", continuation=TEXT)))
    assert caught.value.failure.kind == "too_long"


@pytest.mark.parametrize("door", [by_engine, over_http])
def test_a_short_text_has_the_same_likelihood_either_way(
    folder: Path, door: Callable[[Path, Callable[[Model], object]], object]
) -> None:
    async def both(model: Model) -> tuple[Completion, Completion]:
        short = Request(prompt="in", continuation=" the thing")
        rolling = Request(prompt="in", continuation=" the thing", rolling=(0, 0))
        return await model.generate(short), await model.generate(rolling)

    first, second = door(folder, both)  # type: ignore[misc]
    assert first.logprob == pytest.approx(second.logprob, abs=1e-6)
    assert first.raw == second.raw


def test_a_server_without_a_tokenizer_is_told_apart() -> None:
    from tests.servers.word_server import word_server

    async def score(address: str) -> None:
        async with closing(make_model(f"openai:m@{address}", {"mode": "completions"})) as model:
            await model.generate(Request(prompt="a", continuation=" red", rolling=(4, 0)))

    with word_server() as server, pytest.raises(FailureError, match="needs `/tokenize`"):
        asyncio.run(score(server.address))
