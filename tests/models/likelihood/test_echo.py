"""Likelihoods of an echo: the sum of a continuation's tokens."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.contracts.model import closing
from tests.servers.word_server import logprob, word_server

from assay.core.types import Request
from assay.models.likelihood.echo import continuation_score, window_score
from assay.models.model_names import make_model


@pytest.mark.parametrize("behaviour", ["right", "begins", "no_places"])
def test_a_continuation_is_the_sum_of_its_tokens(behaviour: str) -> None:
    async def score(address: str) -> tuple[float | None, Any]:
        async with closing(make_model(f"openai:m@{address}", {"mode": "completions"})) as model:
            found = await model.generate(Request(prompt="the sky is", continuation=" red red"))
            return found.logprob, (found.raw or {})["continuation_tokens"]

    with word_server(behaviour) as server:
        total, counted = asyncio.run(score(server.address))
    assert total == pytest.approx(logprob(" is", " red") + logprob(" red", " red"))
    assert counted == 2


def test_a_text_with_nothing_before_it_needs_a_mark() -> None:
    async def score(address: str, **options: Any) -> float | None:
        async with closing(make_model(f"openai:m@{address}", {"mode": "completions", **options})) as model:
            return (await model.generate(Request(prompt="", continuation=" red"))).logprob

    with word_server() as server:
        with pytest.raises(Exception, match="document_mark"):
            asyncio.run(score(server.address))
        assert asyncio.run(score(server.address, document_mark="<|end|>")) == pytest.approx(logprob("<|end|>", " red"))


@pytest.mark.parametrize(
    ("tops", "greedy"),
    [
        ([None, {" is": -0.5}, {" red": -1.0, " blue": -2.0}], True),
        ([None, {" is": -0.5}, {" red": -1.0, " blue": -0.5}], False),
        (
            [None, {" is": -0.1, " was": -0.05}, {" red": -1.0}],
            True,
        ),  # what stands before the continuation is not asked
        ([None, {" is": -0.5}, {}], None),
        (None, None),
    ],
)
def test_a_continuation_is_greedy_if_no_named_token_is_likelier(tops: Any, greedy: bool | None) -> None:
    told = {
        "tokens": ["sky", " is", " red"],
        "token_logprobs": [None, -0.5, -1.0],
        "text_offset": [0, 3, 6],
        "top_logprobs": tops,
    }
    assert continuation_score(told, "sky is", " red", written=0).is_greedy is greedy
    assert window_score(told, 2, 1).is_greedy is greedy
