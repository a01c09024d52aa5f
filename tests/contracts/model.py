"""What every model adapter must do, whatever it talks to. A test module gives `check_model` a way to make one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

import msgspec
import pytest

from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request

MakeModel = Callable[[], AbstractAsyncContextManager[Model]]


BREAK = Request(prompt="break")


@dataclass(frozen=True)
class Exam:
    """What a model is asked, what it must say, and a request that it must fail."""

    answer: Callable[[int, int], str] = lambda a, b: str(a + b)
    """What it says to `compute: A + B`."""
    breaking: Request | None = BREAK
    """The default is for models whose other end is scripted: they fail for any prompt with `break` in it. None is for
    models that nothing breaks."""


ARITHMETIC = Exam()


def question(a: int, b: int) -> Request:
    return Request(prompt=f"compute: {a} + {b}")


async def close_model(model: Model) -> None:
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


@asynccontextmanager
async def closing(model: Model) -> AsyncIterator[Model]:
    try:
        yield model
    finally:
        await close_model(model)


def check_model(make: MakeModel, exam: Exam = ARITHMETIC) -> None:
    """Every promise of the seam, on a fresh model each."""
    for promise in (
        answers_a_prompt,
        answers_a_single_message_like_the_same_prompt,
        answers_many_at_once_each_with_its_own,
        answers_a_batch_as_it_answers_one_by_one,
        scores_a_continuation_the_same_alone_and_in_company,
        fails_with_a_failure_error_and_answers_afterwards,
        can_be_cancelled_and_answers_afterwards,
        has_a_name_and_settings_that_are_plain_data,
        can_be_closed_twice,
    ):
        asyncio.run(asyncio.wait_for(promise(make, exam), 60))


async def answers_a_prompt(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        completion = await model.generate(question(2, 3))
        assert isinstance(completion, Completion)
        assert completion.text == exam.answer(2, 3)
        assert completion.seconds >= 0


async def answers_a_single_message_like_the_same_prompt(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        message = Message(role="user", content="compute: 20 + 3")
        assert (await model.generate(Request(messages=(message,)))).text == exam.answer(20, 3)


async def answers_many_at_once_each_with_its_own(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        requests = [question(number, 1) for number in range(40)]
        completions = await asyncio.gather(*(model.generate(request) for request in requests))
        assert [completion.text for completion in completions] == [exam.answer(number, 1) for number in range(40)]


async def answers_a_batch_as_it_answers_one_by_one(make: MakeModel, exam: Exam) -> None:
    """For models that take many requests in one call."""
    async with make() as model:
        batch = getattr(model, "generate_batch", None)
        if batch is None:
            return
        asked = [(number, 1) for number in range(9)]
        outcomes = await batch([question(a, b) for a, b in asked])
        assert [getattr(outcome, "text", outcome) for outcome in outcomes] == [exam.answer(a, b) for a, b in asked]


async def scores_a_continuation_the_same_alone_and_in_company(make: MakeModel, exam: Exam) -> None:
    """For models that say they can: true log-likelihoods, to 0.0001 whatever is computed beside them."""
    async with make() as model:
        if not getattr(model, "scores_continuations", False):
            return
        requests = [Request(prompt="one two" + " three" * (n % 4), continuation=f" four {n}") for n in range(9)]
        together = await asyncio.gather(*(model.generate(request) for request in requests))
        for request, beside in zip(requests, together, strict=True):
            alone = await model.generate(request)
            assert alone.logprob is not None
            assert alone.logprob < 0
            assert beside.logprob == pytest.approx(alone.logprob, abs=1e-4)


async def fails_with_a_failure_error_and_answers_afterwards(make: MakeModel, exam: Exam) -> None:
    if exam.breaking is None:
        return
    async with make() as model:
        with pytest.raises(FailureError) as caught:
            await model.generate(exam.breaking)
        failure = caught.value.failure
        assert (failure.stage, failure.part) == ("model", model.name)
        assert failure.message
        assert failure.message.isprintable()
        assert (await model.generate(question(1, 1))).text == exam.answer(1, 1)


async def can_be_cancelled_and_answers_afterwards(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        task = asyncio.ensure_future(model.generate(question(1, 1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() or task.result().text == exam.answer(1, 1)
        assert (await model.generate(question(1, 2))).text == exam.answer(1, 2)


async def has_a_name_and_settings_that_are_plain_data(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        assert isinstance(model, Model)
        assert model.name
        assert model.name.isprintable()
        settings = getattr(model, "settings", {})
        assert msgspec.json.decode(msgspec.json.encode(settings)) == settings


async def can_be_closed_twice(make: MakeModel, exam: Exam) -> None:
    async with make() as model:
        await model.generate(question(1, 1))
        await close_model(model)
        await close_model(model)
