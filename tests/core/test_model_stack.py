"""Each wrapper adds one behaviour, and a wrapper of a model is a model."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from assay.core.cache import CompletionCache
from assay.core.errors import FailureError
from assay.core.model_stack import Asked, Batched, Cached, Limited, RateLimited, Retrying, Timed
from assay.core.types import Completion, Failure, Request


class Scripted:
    """Answers from a list; an exception in it is raised."""

    name = "scripted"

    def __init__(self, answers: Sequence[str | Exception] = (), wait: Callable[[], asyncio.Future[None]] | None = None):
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.wait = wait

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        if self.wait is not None:
            await self.wait()
        answer = self.answers.pop(0) if self.answers else "ok"
        if isinstance(answer, Exception):
            raise answer
        return Completion(text=answer)


def broke(kind: str = "rate_limit", *, retryable: bool = True, after: float | None = None) -> FailureError:
    return FailureError(Failure(stage="model", kind=kind, message=kind, retryable=retryable), after)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def ask(model: object, *prompts: str) -> list[Completion | BaseException]:
    async def go() -> list[Completion | BaseException]:
        asking = [model.generate(Request(prompt=prompt)) for prompt in prompts]  # type: ignore[attr-defined]
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(go())


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


def test_rate_limits_spread_requests_over_the_minute() -> None:
    clock = Clock()
    ask(RateLimited(Scripted(), requests_per_minute=60, clock=clock, sleep=clock.sleep), *["q"] * 66)
    assert clock.now == pytest.approx(60, abs=1)


def test_token_limits_count_what_was_really_used() -> None:
    class Wordy:
        name = "wordy"

        async def generate(self, request: Request) -> Completion:
            return Completion(text="", tokens_in=100, tokens_out=900)

    clock = Clock()
    ask(RateLimited(Wordy(), tokens_per_minute=60_000, clock=clock, sleep=clock.sleep), *["q"] * 30)
    assert clock.now == pytest.approx(24, abs=1.5)  # 30,000 tokens, of which a tenth of a minute's are free


def test_a_slow_answer_is_a_timeout_and_not_an_answer() -> None:
    async def go() -> FailureError:
        forever = asyncio.get_running_loop().create_future()
        with pytest.raises(FailureError) as caught:
            await Timed(Scripted(wait=lambda: forever), 0.01).generate(Request(prompt="q"))
        return caught.value

    error = asyncio.run(go())
    assert error.failure.kind == "timeout"


def test_the_cache_keeps_answers_but_never_failures(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "cache.sqlite")
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
    asked = Asked(inner, Request(temperature=0.7, max_tokens=9), attempt=3)
    asyncio.run(asked.generate(Request(prompt="q", temperature=0.0)))
    assert inner.asked == [Request(prompt="q", temperature=0.0, max_tokens=9, attempt=3)]


class ListAdapter:
    """Takes lists; remembers how long they were."""

    name = "list"

    def __init__(self, answer: Callable[[list[str]], list[str]]) -> None:
        self.sizes: list[int] = []
        self._answer = answer

    async def generate_batch(self, requests: Sequence[Request]) -> list[Completion]:
        self.sizes.append(len(requests))
        return [Completion(text=text) for text in self._answer([request.text() for request in requests])]


def test_concurrent_requests_share_batches_of_at_most_the_batch_size() -> None:
    adapter = ListAdapter(lambda prompts: [prompt.upper() for prompt in prompts])
    answers = ask(Batched(adapter, 4), *"abcdefghij")
    assert [answer.text for answer in answers if isinstance(answer, Completion)] == list("ABCDEFGHIJ")
    assert adapter.sizes == [4, 4, 2]


def test_a_wrong_number_of_outputs_is_a_failure_of_the_whole_batch() -> None:
    adapter = ListAdapter(lambda prompts: prompts[1:])
    answers = ask(Batched(adapter, 4), *"abc")
    assert [type(answer) for answer in answers] == [FailureError] * 3
    assert "2 outputs for 3 prompts" in str(answers[0])


def test_a_batch_that_raises_fails_every_request_in_it_and_no_other() -> None:
    def answer(prompts: list[str]) -> list[str]:
        if "b" in prompts:
            raise ValueError("no b, please")
        return prompts

    answers = ask(Batched(ListAdapter(answer), 2), *"abcd")
    assert [isinstance(answer, ValueError) for answer in answers] == [True, True, False, False]


def test_one_bad_answer_fails_only_itself() -> None:
    class Mixed:
        name = "mixed"

        async def generate_batch(self, requests: Sequence[Request]) -> list[Completion | FailureError]:
            return [broke("bad_output") if r.prompt == "b" else Completion(text=r.text()) for r in requests]

    answers = ask(Batched(Mixed(), 4), *"abc")
    assert [isinstance(answer, FailureError) for answer in answers] == [False, True, False]
