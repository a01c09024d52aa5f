"""An outage costs time and no attempt, up to a limit; there is no such wait for one request's own trouble."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Literal

import pytest

from assay.core.errors import FailureError
from assay.core.run import Stop
from assay.core.types import Completion, Failure, Request
from assay.models.layers.outage import IN_A_ROW, WaitsOutOutages
from assay.models.layers.retrying import LONGEST_RETRY_AFTER_SECONDS, Retrying

Away = Literal["unreachable", "refusing", "closed"]


class Clock:
    """Time that passes only when everybody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


class Server:
    """Answers, but for the times when it is unavailable."""

    name = "server"

    def __init__(
        self,
        clock: Clock,
        away: Callable[[float], Away | None],
        after: float | None = None,
        kind: str = "server_error",
    ) -> None:
        self._clock, self._away, self._after, self._kind = clock, away, after, kind
        self.asked = self.refused = 0

    async def generate(self, request: Request) -> Completion:
        self.asked += 1
        await self._clock.sleep(0.01)
        away = "refusing" if request.prompt == "poison" else self._away(self._clock.now)
        if away is not None:
            self.refused += 1
            kind = "connection" if away == "unreachable" else self._kind
            failure = Failure(stage="model", kind=kind, message="no answer", retryable=True)
            raise FailureError(failure, self._after, away)
        return Completion(text="ok")


def run(
    server: Server, clock: Clock, prompts: list[str], *, patience: float = 3600.0, retries: int = 5
) -> tuple[list[Completion | BaseException], list[str], Stop]:
    said: list[str] = []
    stop = Stop()
    enduring = WaitsOutOutages(server, patience_seconds=patience, clock=clock, sleep=clock.sleep)
    enduring.bind(stop, said.append)
    model = Retrying(
        enduring,
        retries=retries,
        rng=random.Random(1),
        sleep=clock.sleep,
        longest_retry_after_seconds=min(patience, LONGEST_RETRY_AFTER_SECONDS),
    )
    remaining = iter(prompts)
    found: list[Completion | BaseException] = []

    async def worker() -> None:
        for prompt in remaining:
            if stop.requested:
                return
            try:
                found.append(await model.generate(Request(prompt=prompt)))
            except FailureError as error:
                found.append(error)

    async def go() -> None:
        await asyncio.gather(*(worker() for _ in range(8)))

    asyncio.run(go())
    return found, said, stop


def failed(found: list[Completion | BaseException]) -> int:
    return sum(isinstance(outcome, FailureError) for outcome in found)


@pytest.mark.parametrize("away", ["unreachable", "refusing"])
@pytest.mark.parametrize("minutes", [0.5, 3, 55])
def test_an_outage_of_minutes_costs_no_attempt(away: Away, minutes: float) -> None:
    clock = Clock()
    server = Server(clock, lambda now: away if 1 <= now < 1 + minutes * 60 else None)
    found, said, stop = run(server, clock, ["q"] * 2000)
    assert len(found) == 2000
    assert failed(found) == 0
    assert not stop.requested
    assert server.refused <= 40 + minutes * 60 / 7  # one looks now and then, the others wait
    assert "Ctrl-C is safe" in said[0]
    assert "answers again" in said[-1]
    assert len(said) <= 2 + minutes * 2 + 1


def test_an_hour_of_429_with_a_short_retry_after_costs_no_attempt() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "refusing" if 1 <= now < 3500 else None, after=1.0)
    found, _, stop = run(server, clock, ["q"] * 2000)
    assert (len(found), failed(found), stop.requested) == (2000, 0, False)


def refusing_three_seconds_of_four(now: float) -> Away | None:
    return "refusing" if 1 <= now < 600 and now % 4 < 3 else None


def test_rate_limiting_is_reported_as_such_and_seldom() -> None:
    clock = Clock()
    server = Server(clock, refusing_three_seconds_of_four, after=1.0, kind="rate_limit")
    found, said, _ = run(server, clock, ["q"] * 200_000)
    assert clock.now > 600
    assert failed(found) == 0
    assert 1 <= len(said) <= 3
    assert all(sentence.startswith("server: rate limited") for sentence in said)


def test_a_server_that_comes_and_goes_is_reported_once_a_minute_at_most() -> None:
    clock = Clock()
    _, said, _ = run(Server(clock, refusing_three_seconds_of_four, after=1.0), clock, ["q"] * 200_000)
    assert 2 <= len(said) <= 20
    assert ["back" in sentence for sentence in said] == [True, False] * (len(said) // 2)


def test_a_display_says_rate_limited_while_it_waits() -> None:
    clock = Clock()
    waiting = WaitsOutOutages(
        Server(clock, lambda now: "refusing" if now < 5 else None, after=1.0, kind="rate_limit"),
        patience_seconds=60.0,
        clock=clock,
        sleep=clock.sleep,
    )
    shown: list[str | None] = []

    async def steps() -> None:
        calls = [asyncio.ensure_future(_until_answered(waiting)) for _ in range(8)]
        while not all(call.done() for call in calls):
            await asyncio.sleep(0)
            shown.append(waiting.away)

    asyncio.run(steps())
    assert "server: rate limited for 2 s" in shown
    assert shown[-1] is None


async def _until_answered(model: WaitsOutOutages) -> Completion:
    while True:
        try:
            return await model.generate(Request(prompt="q"))
        except FailureError:
            await asyncio.sleep(0)


def test_a_moment_of_refusals_is_not_worth_a_word() -> None:
    """As when a server takes fewer at once than are sent."""
    clock = Clock()
    server = Server(clock, lambda now: "refusing" if 1 <= now < 1.3 else None)
    found, said, _ = run(server, clock, ["q"] * 2000)
    assert server.refused > 4
    assert (failed(found), said) == (0, [])


def test_patience_has_an_end_and_then_the_run_ends_itself() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if now >= 1 else None)
    found, _, stop = run(server, clock, ["q"] * 2000, patience=120.0)
    assert stop.reason is not None
    assert "has not answered for 2 minutes" in stop.reason
    assert 0 < failed(found) <= 8  # those that were under way; the others are remaining


@pytest.mark.parametrize("after", [5.0, 600.0, 3600.0])
@pytest.mark.parametrize("since", [0.0, 1.0])
def test_no_wait_is_longer_than_the_patience_whatever_the_server_says(after: float, since: float) -> None:
    """Also of a server that has turned everybody down from the first request on."""
    clock = Clock()
    server = Server(clock, lambda now: "refusing" if now >= since else None, after=after)
    found, _, stop = run(server, clock, ["q"] * 2000, patience=3.0)
    assert clock.now <= since + 3.0 + 1.0
    assert stop.reason is not None
    assert "--patience" in stop.reason
    assert failed(found) < 8 + IN_A_ROW  # those under way, and the first, before it was known; the rest remain


async def six_asking(model: WaitsOutOutages, clock: Clock) -> tuple[list[asyncio.Task[Completion]], int, int]:
    """Six requests to a server that has gone away: the one that looks whether it is back, and the first that waits."""
    await model.generate(Request(prompt="first"))
    clock.now = 1.0
    patient = Retrying(model, sleep=clock.sleep)
    asking = [asyncio.create_task(patient.generate(Request(prompt="q"))) for _ in range(6)]
    for _ in range(200):
        if len(model._waiting) == 5:
            break
        await asyncio.sleep(0)
    places = [id(place) for place in model._waiting]
    waits = [id(one._fut_waiter) for one in asking]  # type: ignore[attr-defined]
    (looking,) = (at for at, place in enumerate(waits) if place not in places)
    return asking, looking, waits.index(places[0])


def answered(asking: list[asyncio.Task[Completion]]) -> int:
    return sum(one.done() and not one.cancelled() and one.exception() is None for one in asking)


def test_a_waiter_that_was_cancelled_and_has_not_run_since_is_not_woken_for_another() -> None:
    """The one that looked is cancelled in the same turn as the first that waits: the others must not sleep forever."""
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if 0.02 <= now < 60 else None)
    model = WaitsOutOutages(server, patience_seconds=3600, clock=clock, sleep=clock.sleep)

    async def go() -> int:
        asking, looking, first = await six_asking(model, clock)
        asking[looking].cancel()
        asking[first].cancel()
        await asyncio.wait(asking, timeout=60)
        return answered(asking)

    assert asyncio.run(go()) == 4


def test_who_is_woken_and_cancelled_in_one_turn_wakes_another() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if 0.02 <= now < 60 else None)
    model = WaitsOutOutages(server, patience_seconds=3600, clock=clock, sleep=clock.sleep)

    async def go() -> int:
        asking, looking, first = await six_asking(model, clock)
        place = model._waiting[0]
        clock.now = 61.0  # the server is back, and no one knows
        asking[looking].cancel()
        for _ in range(200):
            if model._waiting[0] is not place:
                break
            await asyncio.sleep(0)
        asking[first].cancel()  # woken in its stead, it has not run yet
        await asyncio.wait(asking, timeout=60)
        return answered(asking)

    assert asyncio.run(go()) == 4


def test_one_request_that_is_always_turned_down_is_its_own_trouble() -> None:
    clock = Clock()
    found, said, _ = run(Server(clock, lambda now: None), clock, [*["q"] * 50, "poison"])
    assert failed(found) == 1
    assert not said
    assert clock.now < 200


def test_a_third_of_the_requests_refused_is_no_outage() -> None:
    clock, rng = Clock(), random.Random(3)
    found, said, _ = run(Server(clock, lambda now: "refusing" if rng.random() < 0.1 else None), clock, ["q"] * 3000)
    assert failed(found) == 0
    assert len(said) <= 10


def test_without_retries_an_outage_still_costs_few() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if 1 <= now < 181 else None)
    found, _, _ = run(server, clock, ["q"] * 2000, retries=0)
    assert failed(found) <= 3


def test_whoever_is_cancelled_while_looking_leaves_it_to_another() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if 0.02 <= now < 60 else None)
    model = WaitsOutOutages(server, patience_seconds=3600, clock=clock, sleep=clock.sleep)

    async def go() -> int:
        await model.generate(Request(prompt="first"))
        clock.now = 1.0
        patient = Retrying(model, sleep=clock.sleep)
        asking = [asyncio.ensure_future(patient.generate(Request(prompt="q"))) for _ in range(6)]
        for _ in range(40):
            await asyncio.sleep(0)
        for one in asking[:3]:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return sum(not one.cancelled() and one.exception() is None for one in asking)

    assert asyncio.run(go()) == 3


def test_a_run_that_is_to_end_does_not_wait_for_the_server() -> None:
    clock = Clock()
    server = Server(clock, lambda now: "unreachable" if now >= 1 else None)
    stop = Stop()
    model = WaitsOutOutages(server, patience_seconds=3600, clock=clock, sleep=clock.sleep)

    async def go() -> None:
        model.bind(stop, lambda sentence: stop.request())  # Ctrl-C as soon as the outage is reported
        patient = Retrying(model, sleep=clock.sleep)
        await model.generate(Request(prompt="first"))
        clock.now = 1.0
        asking = asyncio.gather(*(patient.generate(Request(prompt="q")) for _ in range(6)))
        stop.bind(asking.cancel)
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(go())
    assert clock.now < 60


def test_a_server_that_never_listened_ends_the_run_before_every_sample_has_failed() -> None:
    clock = Clock()
    found, said, stop = run(Server(clock, lambda now: "unreachable"), clock, ["q"] * 2000)
    assert failed(found) == len(found) < 200
    assert said == []
    assert stop.reason is not None
    assert "check that it is running" in stop.reason


def test_a_server_that_begins_to_listen_late_is_not_given_up_early() -> None:
    clock = Clock()
    found, _, stop = run(Server(clock, lambda now: "unreachable" if now < 5 else None), clock, ["q"] * 200)
    assert (len(found), stop.requested) == (200, False)


@pytest.mark.parametrize("since", [0.0, 1.0])
def test_a_key_that_opens_nothing_ends_the_run_also_in_the_middle(since: float) -> None:
    clock = Clock()
    found, _, stop = run(Server(clock, lambda now: "closed" if now >= since else None), clock, ["q"] * 2000, retries=0)
    assert failed(found) <= 40
    assert len(found) < 2000
    assert stop.reason is not None
    assert "check the key" in stop.reason


def test_one_request_that_is_shut_out_ends_nothing() -> None:
    clock = Clock()
    turns = iter(range(10_000))
    found, _, stop = run(Server(clock, lambda now: "closed" if next(turns) % 10 == 0 else None), clock, ["q"] * 400)
    assert (len(found), stop.requested) == (400, False)
