"""Limits on requests and tokens per minute: a request waits until the limits leave room for it.

A limit applies to the whole run. Where several processes work on one run, each has a share, which may change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic

from assay.core.model_stack import Wrapper, not_sent
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.overriding import override

LONGEST_NAP_SECONDS = 1.0
"""How often a waiting request checks again: the share may have grown."""


class RateLimited(Wrapper):
    """At most this many requests and tokens per minute."""

    def __init__(
        self,
        model: Model,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_over` returns whether a waiting request is not to be sent any more."""
        super().__init__(model)
        self.waiting = 0
        """Requests that are waiting for their turn."""
        self._is_over = is_over
        self._requests = _Allowance(requests_per_minute, clock)
        self._tokens = _Allowance(tokens_per_minute, clock)
        self._sleep = sleep
        self._turn = asyncio.Lock()

    def keep_to_share(self, share: float) -> None:
        """Use only this part of the limits from now on."""
        self._requests.keep_to_share(share)
        self._tokens.keep_to_share(share)

    @override
    async def generate(self, request: Request) -> Completion:
        expected = len(request.text()) / 4 + (request.max_tokens or 0)
        self.waiting += 1
        try:
            await self._take(expected)
        finally:
            self.waiting -= 1
        completion = await self.model.generate(request)
        if completion.tokens_in is not None or completion.tokens_out is not None:
            self._tokens.take((completion.tokens_in or 0) + (completion.tokens_out or 0) - expected)
        return completion

    async def _take(self, expected: float) -> None:
        async with self._turn:
            while (wait := max(self._requests.wait_seconds(1), self._tokens.wait_seconds(expected))) > 0:
                if self._is_over():
                    raise not_sent(self.name)
                await self._sleep(min(wait, LONGEST_NAP_SECONDS))
            self._requests.take(1)
            self._tokens.take(expected)


class _Allowance:
    """A bucket that refills evenly and holds at most one minute's worth, starting with a tenth of it."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._whole = self._per_minute = per_minute
        self._clock = clock
        self._left = (per_minute or 0) / 10
        self._at = clock()

    def keep_to_share(self, share: float) -> None:
        if self._whole is None or self._per_minute is None:
            return
        self._refill(self._per_minute)
        before, self._per_minute = self._per_minute, self._whole * share
        # what was saved up under a larger share may not be spent
        self._left *= min(1.0, self._per_minute / before)

    def wait_seconds(self, amount: float) -> float:
        if self._per_minute is None:
            return 0.0
        self._refill(self._per_minute)
        # a request larger than the whole bucket waits for a full one, not forever
        short = min(amount, self._per_minute) - self._left
        return short * 60 / self._per_minute if short > 1e-9 else 0.0

    def take(self, amount: float) -> None:
        self._left -= amount

    def _refill(self, per_minute: float) -> None:
        now = self._clock()
        self._left = min(per_minute, self._left + (now - self._at) * per_minute / 60)
        self._at = now
