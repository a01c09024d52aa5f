"""A wrapper that keeps to a server's requests and tokens per minute."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Request


class RateLimited(Wrapper):
    """At most so many requests and tokens a minute: a request waits until the last minute's use leaves room."""

    def __init__(
        self,
        model: Model,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._requests = _Allowance(requests_per_minute, clock)
        self._tokens = _Allowance(tokens_per_minute, clock)
        self._sleep = sleep
        self._turn = asyncio.Lock()

    async def generate(self, request: Request) -> Completion:
        expected = len(request.text()) / 4 + (request.max_tokens or 0)
        async with self._turn:
            wait = max(self._requests.wait_seconds(1), self._tokens.wait_seconds(expected))
            if wait > 0:
                await self._sleep(wait)
            self._requests.take(1)
            self._tokens.take(expected)
        completion = await self.model.generate(request)
        if completion.tokens_in is not None or completion.tokens_out is not None:
            self._tokens.take((completion.tokens_in or 0) + (completion.tokens_out or 0) - expected)
        return completion


class _Allowance:
    """A bucket that refills evenly and holds at most one minute's worth, starting with a tenth of it."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._left = (per_minute or 0) / 10
        self._at = clock()

    def wait_seconds(self, amount: float) -> float:
        if self._per_minute is None:
            return 0.0
        now = self._clock()
        self._left = min(self._per_minute, self._left + (now - self._at) * self._per_minute / 60)
        self._at = now
        # a request larger than the whole bucket waits for a full one, not for ever
        return max(0.0, min(amount, self._per_minute) - self._left) * 60 / self._per_minute

    def take(self, amount: float) -> None:
        self._left -= amount
