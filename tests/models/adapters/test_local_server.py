"""The contract and the OpenAI adapter against a server that no one here wrote: llama.cpp's, with the real model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.contracts.model import Exam, check_model, closing

from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request
from assay.models.adapters.local_server import ServedModel
from assay.models.embedded import weights as embedded_weights
from assay.models.likelihood.check import likelihood_problem
from assay.models.model_names import make_model

pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed")
FOLDER = embedded_weights.model_folder()
pytestmark = pytest.mark.skipif(not embedded_weights.is_here(FOLDER), reason="`assay model get` was not run here")


def served() -> ServedModel:
    # one slot: with several, llama.cpp's answers depend on the company they are computed in
    return ServedModel(FOLDER, max_tokens=1, slots=1, extra={"seed": 1})


def ask(*requests: Request) -> list[Completion]:
    async def answers() -> list[Completion]:
        async with closing(served()) as model:
            return [await model.generate(request) for request in requests]

    return asyncio.run(answers())


@pytest.mark.slow
def test_it_keeps_the_contract_of_a_model() -> None:
    pairs = [(n, 1) for n in range(40)] + [(2, 3), (20, 3), (1, 2)]
    known = dict(zip(pairs, ask(*(Request(prompt=f"compute: {a} + {b}") for a, b in pairs)), strict=True))

    @asynccontextmanager
    async def make_one() -> AsyncIterator[Model]:
        async with closing(served()) as model:
            yield model

    check_model(make_one, Exam(answer=lambda a, b: known[a, b].text, breaking=Request(prompt="word " * 20_000)))


def test_answers_usage_stops_and_lengths_are_read() -> None:
    system = Message(role="system", content="Repeat what the user says.")
    cut, stopped, sure = ask(
        Request(prompt="Count to ten", max_tokens=5),
        Request(prompt="Say: one two three four", stop=(" ",), max_tokens=20),
        Request(messages=(system, Message(role="user", content="hi")), max_tokens=4, logprobs=2),
    )
    assert (cut.finish_reason, cut.tokens_out) == ("length", 5)
    assert (cut.tokens_in or 0) > 5
    assert (stopped.finish_reason, " " in stopped.text) == ("stop", False)
    assert sure.logprobs
    assert len(sure.logprobs[0]["top_logprobs"]) == 2


def test_what_it_cannot_do_is_a_failure_of_a_kind() -> None:
    async def kinds() -> list[str]:
        found = []
        async with closing(served()) as model:
            for request in (Request(prompt="word " * 20_000), Request(prompt="a", continuation="b")):
                with pytest.raises(FailureError) as caught:
                    await model.generate(request)
                found.append(caught.value.failure.kind)
        return found

    assert asyncio.run(kinds()) == ["too_long", "unsupported"]


def test_its_likelihoods_are_found_to_be_missing() -> None:
    """It takes `echo` and ignores it, which only a test can tell."""

    async def check() -> str | None:
        async with closing(served()) as model:
            await model.generate(Request(prompt="hi"))  # starts it
            address = str(model._model.settings["base_url"])  # type: ignore[attr-defined]
            async with closing(make_model("openai:local", {"base_url": address, "mode": "completions"})) as text:
                assert (await text.generate(Request(prompt="a b c", max_tokens=1, logprobs=1))).logprobs
                return await likelihood_problem(text)

    assert "did not send the log-probabilities of the prompt" in str(asyncio.run(check()))
