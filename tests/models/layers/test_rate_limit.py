"""A rate limit spreads requests over the minute, and a share of it can change on the way."""

from __future__ import annotations

import asyncio

import pytest

from assay.core.types import Completion, Request
from assay.models.layers.rate_limit import RateLimited


class Clock:
    """Time that passes only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


class Wordy:
    """Answers with a thousand tokens in all."""

    name = "wordy"

    async def generate(self, request: Request) -> Completion:
        return Completion(text="", tokens_in=100, tokens_out=900)


def seconds_for(requests: int, model: RateLimited, clock: Clock) -> float:
    async def go() -> None:
        await asyncio.gather(*(model.generate(Request(prompt="q")) for _ in range(requests)))

    before = clock.now
    asyncio.run(go())
    return clock.now - before


def test_rate_limits_spread_requests_over_the_minute() -> None:
    clock = Clock()
    model = RateLimited(Wordy(), requests_per_minute=60, clock=clock, sleep=clock.sleep)
    assert seconds_for(66, model, clock) == pytest.approx(60, abs=1)


def test_token_limits_count_what_was_really_used() -> None:
    clock = Clock()
    model = RateLimited(Wordy(), tokens_per_minute=60_000, clock=clock, sleep=clock.sleep)
    # 30,000 tokens, of which a tenth of a minute's are free
    assert seconds_for(30, model, clock) == pytest.approx(24, abs=1.5)


@pytest.mark.parametrize(("share", "seconds"), [(0.25, 240), (1.0, 60), (0.5, 120)])
def test_a_share_of_the_limit_is_kept_to(share: float, seconds: float) -> None:
    clock = Clock()
    model = RateLimited(Wordy(), requests_per_minute=60, clock=clock, sleep=clock.sleep)
    model.keep_to_share(share)
    assert seconds_for(60, model, clock) == pytest.approx(seconds, rel=0.1)


def test_shares_that_change_never_add_up_to_more_than_the_limit() -> None:
    clock = Clock()
    one, two = (RateLimited(Wordy(), requests_per_minute=600, clock=clock, sleep=clock.sleep) for _ in range(2))
    one.keep_to_share(0.5)
    two.keep_to_share(0.5)
    clock.now += 60  # both have saved up a minute's worth of their halves
    one.keep_to_share(1.0)
    two.keep_to_share(0.001)
    took = seconds_for(600, one, clock)
    assert took >= 30 - 1  # half a minute's worth was there; what `two` had saved up is not `one`'s


def test_who_waits_under_a_small_share_goes_on_when_it_grows() -> None:
    clock = Clock()
    model = RateLimited(Wordy(), requests_per_minute=60, clock=clock, sleep=clock.sleep)
    model.keep_to_share(0.01)

    async def go() -> float:
        asking = [asyncio.ensure_future(model.generate(Request(prompt="q"))) for _ in range(8)]
        await asyncio.sleep(0)
        model.keep_to_share(1.0)
        await asyncio.gather(*asking)
        return clock.now

    assert asyncio.run(go()) < 20  # one alone would have waited 100 seconds
