"""What every model adapter must do, whatever it talks to. A test module gives `check_model` a way to make one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec
import pytest

from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request

MakeModel = Callable[[], AbstractAsyncContextManager[Model]]
"""A model that answers `compute: A + B` with the sum, and fails for any prompt with `break` in it."""


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


def check_model(make: MakeModel) -> None:
    """Every promise of the seam, on a fresh model each."""
    for promise in (
        answers_a_prompt,
        answers_a_single_message_like_the_same_prompt,
        answers_many_at_once_each_with_its_own,
        fails_with_a_failure_error_and_answers_afterwards,
        can_be_cancelled_and_answers_afterwards,
        has_a_name_and_settings_that_are_plain_data,
        can_be_closed_twice,
    ):
        asyncio.run(asyncio.wait_for(promise(make), 60))


async def answers_a_prompt(make: MakeModel) -> None:
    async with make() as model:
        completion = await model.generate(Request(prompt="compute: 2 + 3"))
        assert isinstance(completion, Completion)
        assert completion.text == "5"
        assert completion.seconds >= 0


async def answers_a_single_message_like_the_same_prompt(make: MakeModel) -> None:
    async with make() as model:
        message = Message(role="user", content="compute: 20 + 3")
        assert (await model.generate(Request(messages=(message,)))).text == "23"


async def answers_many_at_once_each_with_its_own(make: MakeModel) -> None:
    async with make() as model:
        requests = [Request(prompt=f"compute: {number} + 1") for number in range(40)]
        completions = await asyncio.gather(*(model.generate(request) for request in requests))
        assert [completion.text for completion in completions] == [str(number + 1) for number in range(40)]


async def fails_with_a_failure_error_and_answers_afterwards(make: MakeModel) -> None:
    async with make() as model:
        with pytest.raises(FailureError) as caught:
            await model.generate(Request(prompt="break"))
        failure = caught.value.failure
        assert (failure.stage, failure.part) == ("model", model.name)
        assert failure.message
        assert failure.message.isprintable()
        assert (await model.generate(Request(prompt="compute: 1 + 1"))).text == "2"


async def can_be_cancelled_and_answers_afterwards(make: MakeModel) -> None:
    async with make() as model:
        task = asyncio.ensure_future(model.generate(Request(prompt="compute: 1 + 1")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled() or task.result().text == "2"
        assert (await model.generate(Request(prompt="compute: 1 + 2"))).text == "3"


async def has_a_name_and_settings_that_are_plain_data(make: MakeModel) -> None:
    async with make() as model:
        assert isinstance(model, Model)
        assert model.name
        assert model.name.isprintable()
        settings = getattr(model, "settings", {})
        assert msgspec.json.decode(msgspec.json.encode(settings)) == settings


async def can_be_closed_twice(make: MakeModel) -> None:
    async with make() as model:
        await model.generate(Request(prompt="compute: 1 + 1"))
        await close_model(model)
        await close_model(model)
