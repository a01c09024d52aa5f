"""An embedding is an answer like any other: cached, retried, refused by name, and never a score when it is missing."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.types import Completion, Request
from assay.models.adapters.stub import ConstantModel
from assay.models.adapters.toy import ToyModel
from assay.models.completion_cache import CompletionCache
from assay.models.layers.cached import Cached
from assay.scorers.embedding import cosine, embedding_of, lack_of_embeddings, similarity_of


class Says:
    name = "says"
    offers = ModelOffers(embeddings=True)

    def __init__(self, *vectors: tuple[float, ...] | None) -> None:
        self.vectors = list(vectors)
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text="", embedding=self.vectors.pop(0))


def test_similarity_is_the_cosine_of_two_embeddings() -> None:
    assert asyncio.run(similarity_of(Says((1.0, 0.0), (1.0, 1.0)), "a", "b")) == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(("one", "other", "expected"), [("", "b", 0.0), ("a", " \n", 0.0), ("", "", 1.0)])
def test_no_model_is_called_for_an_empty_text(one: str, other: str, expected: float) -> None:
    assert asyncio.run(similarity_of(Says(), one, other)) == expected


@pytest.mark.parametrize("vector", [None, (), (0.0, 0.0), (math.inf, 1.0), (math.nan,)])
def test_what_is_no_direction_is_a_failure(vector: tuple[float, ...] | None) -> None:
    with pytest.raises(FailureError) as caught:
        asyncio.run(similarity_of(Says(vector, vector), "a", "b"))
    assert caught.value.failure.kind == "bad_output"


def test_embeddings_of_two_lengths_are_a_failure() -> None:
    with pytest.raises(FailureError, match="1 and 2 numbers"):
        asyncio.run(similarity_of(Says((1.0,), (1.0, 0.0)), "a", "b"))


def test_a_model_without_embeddings_is_not_asked() -> None:
    with pytest.raises(FailureError) as caught:
        asyncio.run(embedding_of(ConstantModel("x"), "a"))
    assert caught.value.failure.kind == "unsupported"
    assert "the model `stub:x` has no embeddings" in (lack_of_embeddings("stub:x", ModelOffers()) or "")
    assert lack_of_embeddings("any", ModelOffers(embeddings=True)) is None


def test_a_cached_embedding_that_cannot_be_used_is_asked_for_again(tmp_path: Path) -> None:
    inner = Says((0.0,), (2.0,))
    model = Cached(inner, CompletionCache(tmp_path / "cache", b"secret"), "identity")
    with pytest.raises(FailureError):
        asyncio.run(embedding_of(model, "a"))
    assert [asyncio.run(embedding_of(model, "a")) for _ in range(2)] == [(2.0,), (2.0,)]
    assert len(inner.asked) == 2


vectors = st.lists(st.floats(-1e150, 1e150, allow_subnormal=False), min_size=3, max_size=3).filter(
    lambda each: math.hypot(*each) > 1e-100
)


@given(vectors, vectors)
def test_a_cosine_lies_between_minus_one_and_one(one: list[float], other: list[float]) -> None:
    assert -1 <= cosine(one, other) <= 1
    assert cosine(one, one) == pytest.approx(1)


def test_the_toy_model_sees_spelling() -> None:
    async def alike(one: str, other: str) -> float:
        return await similarity_of(ToyModel(), one, other)

    assert asyncio.run(alike("The capital is 東京", "the capital is  東京")) == pytest.approx(1)
    assert asyncio.run(alike("the capital is Paris", "the capital was Paris")) > 0.6
    assert asyncio.run(alike("the capital is Paris", "xyzzy")) < 0.3
