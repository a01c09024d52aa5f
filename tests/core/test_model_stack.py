"""Each wrapper adds one behaviour, and a wrapper of a model is a model."""

from __future__ import annotations

import asyncio

import pytest
from tests.core.scripted import Scripted, ask

from assay.core.errors import FailureError
from assay.core.model_stack import Limited, Timed, WithRunSettings, given_settings
from assay.core.types import Completion, Request


def test_limited_never_has_more_in_flight() -> None:
    running = most = 0

    class Counting:
        name = "counting"

        async def generate(self, request: Request) -> Completion:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            return Completion(text="")

    ask(Limited(Counting(), 3), *"abcdefghij")
    assert most == 3


def test_a_slow_answer_is_a_timeout_and_not_an_answer() -> None:
    async def go() -> FailureError:
        forever = asyncio.get_running_loop().create_future()
        with pytest.raises(FailureError) as caught:
            await Timed(Scripted(wait=lambda: forever), 0.01).generate(Request(prompt="q"))
        return caught.value

    error = asyncio.run(go())
    assert (error.failure.kind, error.failure.retryable) == ("timeout", False)


def test_settings_fill_only_what_a_request_leaves_open() -> None:
    inner = Scripted()
    asked = WithRunSettings(inner, given_settings(Request(temperature=0.7, max_tokens=9)))
    asyncio.run(asked.generate(Request(prompt="q", temperature=0.0)))
    assert inner.asked == [Request(prompt="q", temperature=0.0, max_tokens=9)]
