"""A model is asked what it serves in bounded time, and whatever it does the run goes on."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.describe import ModelOffers
from assay.core.errors import UsageError
from assay.core.model_stack import Limited
from assay.core.seams import Served
from assay.core.types import Completion, Request
from assay.models.adapters.toy import make
from assay.models.served import served_by


class Saying:
    """A model that says what it serves by calling a function."""

    name = "saying"
    offers = ModelOffers(remote=True)

    def __init__(self, say: object) -> None:
        self._say = say

    async def generate(self, request: Request) -> Completion:
        return Completion(text="")

    async def served(self) -> object:
        if isinstance(self._say, Exception):
            raise self._say
        if self._say == "hangs":
            await asyncio.Event().wait()
        return self._say


def test_a_model_that_says_nothing_serves_none() -> None:
    assert asyncio.run(served_by(make())) is None


def test_wrappers_are_looked_through() -> None:
    served = Served(strong={"digest": "1"})
    assert asyncio.run(served_by(Limited(Saying(served), 1))) == served  # type: ignore[arg-type]


@pytest.mark.parametrize("say", ["hangs", OSError("gone")])
def test_a_model_that_hangs_or_breaks_does_not_say(say: object) -> None:
    assert asyncio.run(served_by(Saying(say), seconds=0.01)) is None  # type: ignore[arg-type]


def test_another_return_value_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"Saying\.served\(\) must return an assay\.Served"):
        asyncio.run(served_by(Saying(3)))  # type: ignore[arg-type]
