"""Adaptive concurrency: grows while healthy, shrinks on trouble, waits when told to. Time is simulated."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.scripted import Scripted, ask, broke

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request
from assay.models.layers.adaptive import Adaptive
from assay.models.rate_limits import RateLimits


class World:
    """A clock that jumps to the next thing to happen once everybody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self._count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, self._count, future))
        await future

    async def run(self, *work: Any) -> list[Any]:
        together = asyncio.gather(*work, return_exceptions=True)
        while not together.done():
            for _ in range(5):
                await asyncio.sleep(0)
            if self._sleepers and not together.done():
                self.now, _, future = heapq.heappop(self._sleepers)
                if not future.done():
                    future.set_result(None)
        return list(await together)


class Server:
    """Answers in one second, or worse when there are more than `capacity` requests at once."""

    name = "server"

    def __init__(self, world: World, *, capacity: int, overload: str) -> None:
        self._world = world
        self._capacity = capacity
        self._overload = overload
        self.busy = 0
        self.most = 0
        self.refused = 0
        self.limits: RateLimits | None = None
        self.sent_at: list[float] = []

    async def generate(self, request: Request) -> Completion:
        self.sent_at.append(self._world.now)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            over = self.busy > self._capacity
            if over and self._overload == "refuses":
                self.refused += 1
                await self._world.sleep(0.1)
                failure = Failure(stage="model", kind="rate_limit", message="slow down", retryable=True)
                raise FailureError(failure, retry_after_seconds=None)
            await self._world.sleep(self.busy / self._capacity if over else 1.0)
            return Completion(text="")
        finally:
            self.busy -= 1


def drive(capacity: int, overload: str, requests: int, **options: Any) -> tuple[Adaptive, Server, World]:
    async def go() -> tuple[Adaptive, Server, World]:
        world = World()
        server = Server(world, capacity=capacity, overload=overload)
        model = Adaptive(server, clock=world.clock, sleep=world.sleep, **options)
        await world.run(*(model.generate(Request(prompt=str(n))) for n in range(requests)))
        return model, server, world

    return asyncio.run(go())


def test_it_starts_modest_and_grows_while_healthy() -> None:
    model, server, world = drive(capacity=1000, overload="refuses", requests=2000)
    assert server.sent_at[:9].count(0.0) == 8
    assert model.widest > 100
    assert world.now < 40  # eight at a time would take 250 seconds


def test_it_never_grows_beyond_the_most() -> None:
    _, server, _ = drive(capacity=1000, overload="refuses", requests=500, most=20)
    assert server.most == 20


def test_refusals_halve_it_once_per_round_and_it_settles_below_what_the_server_takes() -> None:
    model, server, _ = drive(capacity=20, overload="refuses", requests=1500)
    assert model.narrowest >= 4  # one round of many refusals is one step
    assert 8 <= model.width <= 32
    assert server.refused < 150


def test_slow_answers_without_more_of_them_narrow_it() -> None:
    model, server, _ = drive(capacity=10, overload="slows", requests=3000)
    assert model.width < 50  # doubling without looking at the time would have reached 256
    assert server.most < 200


def test_few_requests_do_not_widen_what_they_do_not_fill() -> None:
    async def go() -> Adaptive:
        world = World()
        model = Adaptive(Server(world, capacity=9, overload="refuses"), clock=world.clock, sleep=world.sleep)
        for _ in range(40):
            await world.run(model.generate(Request(prompt="")))
        return model

    assert asyncio.run(go()).width == 8


@pytest.mark.parametrize("say", ["retry_after", "headers"])
def test_it_waits_when_told_to(say: str) -> None:
    async def go() -> list[float]:
        world = World()
        server = Server(world, capacity=100, overload="refuses")

        class Told:
            name = "told"
            limits: RateLimits | None = None

            async def generate(self, request: Request) -> Completion:
                if request.prompt == "first" and say == "retry_after":
                    failure = Failure(stage="model", kind="rate_limit", message="later", retryable=True)
                    raise FailureError(failure, retry_after_seconds=30.0)
                self.limits = RateLimits(0, 30.0) if request.prompt == "first" else None
                return await server.generate(request)

        model = Adaptive(Told(), clock=world.clock, sleep=world.sleep)
        await world.run(model.generate(Request(prompt="first")))
        began = world.now
        server.sent_at.clear()
        await world.run(*(model.generate(Request(prompt="next")) for _ in range(3)))
        return [moment - began for moment in server.sent_at]

    assert min(asyncio.run(go())) >= 29.0


def test_a_request_that_is_cancelled_while_waiting_leaves_its_place() -> None:
    async def go() -> list[Any]:
        world = World()
        server = Server(world, capacity=100, overload="refuses")
        model = Adaptive(server, start=1, most=1, clock=world.clock, sleep=world.sleep)
        tasks = [asyncio.ensure_future(model.generate(Request(prompt=str(n)))) for n in range(4)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[2].cancel()
        return await world.run(*tasks)

    outcomes = asyncio.run(go())
    kinds: list[Callable[[Any], bool]] = [
        lambda x: isinstance(x, Completion),
        lambda x: isinstance(x, asyncio.CancelledError),
        lambda x: isinstance(x, asyncio.CancelledError),
        lambda x: isinstance(x, Completion),
    ]
    assert [check(outcome) for check, outcome in zip(kinds, outcomes, strict=True)] == [True] * 4


def test_who_waits_out_a_pause_is_not_kept_when_the_run_is_to_end() -> None:
    async def is_to_end(seconds: float) -> bool:
        await asyncio.sleep(0)
        return True

    inner = Scripted([broke(after=50.0)])
    found = ask(Adaptive(inner, start=1, sleep=is_to_end), *"abcd")
    kinds = [error.failure.kind for error in found if isinstance(error, FailureError)]
    assert kinds == ["rate_limit", "interrupted", "interrupted", "interrupted"]
    assert len(inner.asked) == 1
