"""A user's own model: an answer of the wrong type fails its request, alone or in a batch."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.core.types import Completion, Request
from assay.models.adapters.native_model import NativeBatchModel


class Answers:
    """Gives what it was made with."""

    name = "answers"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def generate(self, request: Request) -> Completion:
        return self.answer  # type: ignore[no-any-return]

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion]:
        return [self.answer for _ in requests]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (Completion(text="x", tokens_in="many"), "`int | null`, got `str` - at `$.tokens_in`"),  # type: ignore[arg-type]
        (Completion(text=5), "`str`, got `int` - at `$.text`"),  # type: ignore[arg-type]
        ("a text", "it is a str"),
        (None, "it is a NoneType"),
    ],
)
def test_an_answer_of_the_wrong_type_fails_its_request_and_names_the_field(answer: Any, says: str) -> None:
    model = NativeBatchModel(Answers(answer))
    with pytest.raises(FailureError, match=re.escape(says)) as caught:
        asyncio.run(model.generate(Request(prompt="x")))
    assert (caught.value.failure.stage, caught.value.failure.kind) == ("model", "bad_output")
    (failed,) = asyncio.run(model.generate_batch([Request(prompt="x")]))
    assert isinstance(failed, FailureError)
    assert says in str(failed)
