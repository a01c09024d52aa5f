"""Requests and tokens a minute are kept to."""

from __future__ import annotations

import pytest
from tests.core.scripted import Clock, Scripted, ask

from assay.core.types import Completion, Request
from assay.models.rate_limit import RateLimited


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
