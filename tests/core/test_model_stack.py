"""Each wrapper adds one behaviour, and a wrapper of a model is a model."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from tests.core.scripted import Clock, Scripted, ask, broke

from assay.core.cache import CompletionCache
from assay.core.errors import FailureError
from assay.core.model_stack import Cached, Limited, Retrying, Timed, WithRunSettings, given_settings, read_answer
from assay.core.types import Completion, Request


def test_retrying_asks_again_until_it_works_and_says_how_often() -> None:
    clock = Clock()
    model = Retrying(Scripted([broke(), broke("server_error"), "yes"]), sleep=clock.sleep, rng=random.Random(1))
    (completion,) = ask(model, "q")
    assert isinstance(completion, Completion)
    assert (completion.text, completion.retries) == ("yes", 2)
    assert 0 <= clock.slept[0] <= 0.5
    assert 0 <= clock.slept[1] <= 1.0


def test_retrying_waits_at_least_as_long_as_the_server_asked() -> None:
    clock = Clock()
    ask(Retrying(Scripted([broke(after=7.0), "yes"]), sleep=clock.sleep), "q")
    assert 7.0 <= clock.slept[0] <= 7.1


@pytest.mark.parametrize("after", [None, 2.0], ids=["of a back-off", "that the server asked for"])
def test_no_wait_is_longer_than_the_longest(after: float | None) -> None:
    clock = Clock()
    inner = Scripted([*(broke(after=after) for _ in range(30)), "yes"])
    ask(Retrying(inner, retries=30, longest_retry_after_seconds=2.0, sleep=clock.sleep, rng=random.Random(1)), "q")
    assert len(clock.slept) == 30
    assert max(clock.slept) <= 2.0


def test_what_cannot_be_retried_is_asked_once() -> None:
    inner = Scripted([broke("auth", retryable=False)])
    (error,) = ask(Retrying(inner), "q")
    assert isinstance(error, FailureError)
    assert len(inner.asked) == 1


def test_retries_are_bounded_and_the_failure_says_how_many_there_were() -> None:
    clock = Clock()
    inner = Scripted([broke() for _ in range(9)])
    (error,) = ask(Retrying(inner, retries=3, sleep=clock.sleep), "q")
    assert isinstance(error, FailureError)
    assert error.failure.kind == "rate_limit"
    assert "after 3 retries" in error.failure.message
    assert len(inner.asked) == 4


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
    assert error.failure.kind == "timeout"


def test_the_cache_keeps_answers_but_never_failures(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "cache.sqlite", b"secret")
    inner = Scripted([broke(), "yes"])
    model = Cached(inner, cache, "id")
    assert isinstance(ask(model, "q")[0], FailureError)
    (first,) = ask(model, "q")
    (second,) = ask(model, "q")
    assert isinstance(first, Completion)
    assert isinstance(second, Completion)
    assert (first.text, first.cached) == ("yes", False)
    assert (second.text, second.cached) == ("yes", True)
    assert len(inner.asked) == 2
    cache.close()


def test_settings_fill_only_what_a_request_leaves_open() -> None:
    inner = Scripted()
    asked = WithRunSettings(inner, given_settings(Request(temperature=0.7, max_tokens=9)), attempt=3)
    asyncio.run(asked.generate(Request(prompt="q", temperature=0.0)))
    assert inner.asked == [Request(prompt="q", temperature=0.0, max_tokens=9, attempt=3)]


def test_a_kept_answer_that_cannot_be_read_is_asked_for_again(tmp_path: Path) -> None:
    def number(completion: Completion) -> int:
        return int(completion.text)

    async def each_run(answers: list[str]) -> list[object]:
        """What comes of each run, and how often the model was asked so far."""
        inner = Scripted([*answers])
        found: list[object] = []
        for _ in range(4):
            cache = CompletionCache(tmp_path / "cache.sqlite", b"secret")
            try:
                _, read = await read_answer(Cached(inner, cache, "m"), Request(prompt="q"), number)
                found.append((read, len(inner.asked)))
            except ValueError:
                found.append(("unreadable", len(inner.asked)))
            cache.close()
        assert {request.fresh for request in inner.asked} == {False}
        return found

    found = asyncio.run(each_run(["hmm", "hm", "7"]))
    assert found == [("unreadable", 1), ("unreadable", 2), (7, 3), (7, 3)]
