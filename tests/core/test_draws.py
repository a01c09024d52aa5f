"""Equal requests of an attempt are numbered, and made again they have the same numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.core.scripted import Scripted

from assay.core.draws import Draws, is_sampled, numbered
from assay.core.model_stack import WithRunSettings, given_settings
from assay.core.types import Draw, Message, Request, Sample
from assay.costs.budget import CountedAsJudge

PART = {"type": "text", "text": "q"}
REQUESTS = {
    "prompt": Request(prompt="q"),
    "messages": Request(messages=(Message(role="user", content="q"),)),
    "content that cannot be hashed": Request(messages=(Message(role="user", content=[PART]),), tools=[{"a": 1}]),
}


def numbers(*requests: Request) -> list[int]:
    with Draws("task", Sample(id="sample"), 2):
        draws = [numbered(None, request).draw for request in requests]
    assert {(draw.task, draw.sample, draw.repetition) for draw in draws if draw} == {("task", "sample", 2)}
    return [draw.n for draw in draws if draw]


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_equal_requests_are_counted(request_: Request) -> None:
    other = Request(prompt="another")
    assert numbers(request_, request_, other, request_, other) == [1, 2, 1, 3, 2]
    assert numbers(request_, request_) == [1, 2]


def test_a_number_of_the_solver_s_own_makes_another_request() -> None:
    assert numbers(*(Request(prompt="q", attempt=n) for n in (1, 2, 2))) == [1, 1, 2]
    assert numbers(*(Request(prompt="q", draw=Draw(n=n)) for n in (1, 2, 2))) == [1, 2, 3]


def test_a_request_for_a_new_answer_in_place_of_one_that_could_not_be_used_is_the_same_draw() -> None:
    plain, again = Request(prompt="q"), Request(prompt="q", fresh=True)
    assert numbers(plain, again, plain, again) == [1, 1, 2, 2]


def test_each_model_has_its_own_count() -> None:
    request, judge = Request(prompt="q"), CountedAsJudge(inner := Scripted())
    model = WithRunSettings(inner, {})

    async def go() -> None:
        with Draws("t", Sample(id="s"), 1):
            for asked in (model, judge, model, judge):
                await asked.generate(request)
        await model.generate(request)

    asyncio.run(go())
    draws = [request.draw for request in inner.asked]
    assert [draw.n if draw else None for draw in draws] == [1, 1, 2, 2, None]


def test_requests_are_compared_with_the_run_s_settings() -> None:
    inner = Scripted()

    async def go() -> None:
        model = WithRunSettings(inner, given_settings(Request(temperature=1.0)))
        with Draws("t", Sample(id="s"), 1):
            await model.generate(Request(prompt="q"))
            await model.generate(Request(prompt="q", temperature=1.0))

    asyncio.run(go())
    assert [request.draw.n for request in inner.asked if request.draw] == [1, 2]


def test_draws_are_counted_for_each_of_many_attempts_at_once() -> None:
    async def attempt(sample: str) -> list[Draw | None]:
        found = []
        with Draws("t", Sample(id=sample), 1):
            for _ in range(3):
                await asyncio.sleep(0)
                found.append(numbered(None, Request(prompt="q")).draw)
        return found

    async def go() -> Any:
        return await asyncio.gather(*map(attempt, "abc"))

    for sample, found in zip("abc", asyncio.run(go()), strict=True):
        assert [(draw.sample, draw.n) for draw in found] == [(sample, 1), (sample, 2), (sample, 3)]


@pytest.mark.parametrize(
    ("request_", "sampled"),
    [
        (Request(prompt="q"), True),
        (Request(prompt="q", temperature=0.7), True),
        (Request(prompt="q", temperature=0.7, seed=1), True),
        (Request(prompt="q", temperature=0.0), False),
        (Request(prompt="q", temperature=0.0, extra={"temperature": 1}), True),
        (Request(prompt="q", extra={"temperature": 0}), False),
        (Request(prompt="q", continuation=" a"), False),
        (Request(prompt="q", embed=True), False),
    ],
)
def test_only_what_is_computed_from_the_likeliest_tokens_is_not_sampled(request_: Request, sampled: bool) -> None:
    assert is_sampled(request_) == sampled
