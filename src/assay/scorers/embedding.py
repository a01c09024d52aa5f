"""Embeddings of texts, from any model that can `embed`.

A `Request` asks for an embedding and a `Completion` returns it, so all wrappers of a model (cache, retries, limits,
budget, account) apply to its embeddings too.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.seams import Model, offers_of
from assay.core.types import Completion, Failure, Request
from assay.evaluators.usable_answers import read_answer

Vector = tuple[float, ...]


def lack_of_embeddings(name: str, offers: ModelOffers) -> str | None:
    """Why a model's embeddings cannot be compared; None where it has some."""
    if offers.embeddings:
        return None
    return (
        f"the model `{name}` has no embeddings; name one that has, such as "
        "`openai:text-embedding-3-small`, a model of another server with `/v1/embeddings`, or `embedded`"
    )


async def embedding_of(model: Model, text: str) -> Vector:
    """The embedding of a text. `FailureError` if the model has none, or returns one that cannot be used."""
    if not offers_of(model).embeddings:
        raise _failure(model, "unsupported", "it has no embeddings")
    return (await read_answer(model, Request(prompt=text, embed=True), lambda answer: _usable(model, answer)))[1]


async def similarity_of(model: Model, one: str, other: str) -> float:
    """The cosine of the angle between two texts, from -1 to 1.

    An empty text is similar only to another one; servers refuse to embed it, so none is called.
    """
    if not one.strip() or not other.strip():
        return float(one.strip() == other.strip())
    first, second = await asyncio.gather(embedding_of(model, one), embedding_of(model, other))
    if len(first) != len(second):
        raise _failure(model, "bad_output", f"its embeddings have {len(first)} and {len(second)} numbers")
    return cosine(first, second)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors of the same length, neither of which is zero."""
    lengths = math.hypot(*one), math.hypot(*other)
    # scaled first: the product of two long vectors may overflow
    return max(-1.0, min(1.0, math.fsum((a / lengths[0]) * (b / lengths[1]) for a, b in zip(one, other, strict=True))))


def _usable(model: Model, answer: Completion) -> Vector:
    vector = answer.embedding
    if not vector:
        raise _failure(model, "bad_output", "it answered without an embedding")
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0:
        raise _failure(model, "bad_output", "its embedding has no direction: it is zero, or not finite")
    return vector


def _failure(model: Model, kind: str, message: str) -> FailureError:
    return FailureError(Failure(stage="model", part=model.name, kind=kind, message=message))
