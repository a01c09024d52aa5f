"""The stub model says one text to everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.contracts.model import Exam, check_model, closing

from assay.core.seams import Model
from assay.core.types import Message, Request
from assay.models.adapters.stub import echo, make


def test_every_request_gets_the_same_text() -> None:
    for model in (make("no"), make(text="no")):
        texts = {asyncio.run(model.generate(Request(prompt=prompt))).text for prompt in ("a", "b", "")}
        assert (model.name, texts) == ("stub:no", {"no"})


def test_it_keeps_the_contract_of_a_model() -> None:
    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(make("no")) as model:
            yield model

    check_model(make_one, Exam(answer=lambda a, b: "no", breaking=None))


def test_the_echo_answers_with_its_prompt() -> None:
    asked = Request(messages=(Message(role="system", content="s"), Message(role="user", content="ü")))
    assert asyncio.run(echo().generate(Request(prompt="a"))).text == "a"
    said = json.loads(asyncio.run(echo().generate(asked)).text)
    assert said == [{"role": "system", "content": "s"}, {"role": "user", "content": "ü"}]


def test_by_default_it_says_nothing_and_fits_the_seam() -> None:
    model = make()
    assert isinstance(model, Model)
    assert model.name == "stub"
    assert asyncio.run(model.generate(Request(prompt="compute: 1 + 1"))).text == ""
