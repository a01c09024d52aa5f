"""Adapts the number of requests in flight to the server: starts small, grows while the server keeps up, backs off.

The width doubles until the first sign of trouble and then grows one at a time. A rate limit or an overload halves it,
at most once per round; answers that take longer without a higher throughput narrow it by a fifth. When the server says
how long to wait, or that its rate limit is used up, nothing new is sent until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from statistics import median
from time import monotonic

from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper, innermost, not_sent
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.models.layers.outage import wait_until_woken
from assay.models.rate_limits import HasRateLimits
from assay.overriding import override

TROUBLE = ("rate_limit", "overloaded")
LONGEST_PAUSE_SECONDS = 120.0


class Adaptive(Wrapper):
    """A limit on requests in flight that adapts to the server."""

    def __init__(
        self,
        model: Model,
        *,
        start: int = 8,
        most: int = 256,
        longest_pause_seconds: float = LONGEST_PAUSE_SECONDS,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """A true result of `sleep`, or of `is_over` for waiting requests, means that nothing more is to be sent."""
        super().__init__(model)
        source = innermost(model)
        self._source = source if isinstance(source, HasRateLimits) else None
        self.width = start
        self.narrowest = self.widest = start
        self._most = most
        self._longest_pause = longest_pause_seconds
        self._clock = clock
        self._sleep = sleep
        self._is_over = is_over
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._paused_until = 0.0
        self._first_trouble_seen = False
        self._last_narrowed = clock()
        self._was_full = False
        self._begin_window()
        self._quickest: float | None = None
        self._best_rate = 0.0

    @override
    async def generate(self, request: Request) -> Completion:
        await self._enter()
        begun = self._clock()
        try:
            completion = await self.model.generate(request)
        except FailureError as error:
            if error.failure.kind in TROUBLE:
                self._trouble(begun, error.retry_after_seconds)
            raise
        else:
            self._healthy(self._clock() - begun)
            return completion
        finally:
            self._respect_rate_limits()
            self._leave()

    @property
    def in_flight(self) -> int:
        return self._in_flight

    @property
    def paused_seconds(self) -> float:
        """For how long nothing new is sent from now on."""
        return max(0.0, self._paused_until - self._clock())

    async def _enter(self) -> None:
        while True:
            pause = self._paused_until - self._clock()
            if pause > 0:
                if await self._sleep(pause):
                    self._wake()  # the others wait for the same server
                    raise not_sent(self.name)
            elif self._is_over():
                self._wake()
                raise not_sent(self.name)
            elif self._in_flight < self.width:
                self._in_flight += 1
                return
            else:
                await wait_until_woken(self._waiting, self._wake)

    def _leave(self) -> None:
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        free = self.width - self._in_flight
        while free > 0 and self._waiting:
            waiter = self._waiting.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                free -= 1

    def _trouble(self, begun: float, retry_after_seconds: float | None) -> None:
        self._first_trouble_seen = True
        if begun >= self._last_narrowed:  # requests sent before the last change say nothing about the new width
            self._set_width(self.width // 2)
        if retry_after_seconds is not None:
            self._pause(retry_after_seconds)

    def _healthy(self, seconds: float) -> None:
        self._window.append(seconds)
        self._was_full = self._was_full or bool(self._waiting)
        if len(self._window) >= max(8, self.width):
            self._end_window()

    def _end_window(self) -> None:
        elapsed = max(self._clock() - self._window_begun, 1e-9)
        rate, typical = len(self._window) / elapsed, median(self._window)
        quickest = typical if self._quickest is None else min(self._quickest, typical)
        slow = typical > 2 * quickest and rate <= 1.05 * self._best_rate
        if slow:
            self._first_trouble_seen = True
            self._set_width(self.width * 4 // 5)
            self._quickest = quickest * 1.05  # so that one quick window does not set the standard permanently
        else:
            self._quickest = quickest
            if self._was_full:
                self._set_width(self.width + 1 if self._first_trouble_seen else self.width * 2)
        self._best_rate = max(rate, self._best_rate * 0.9)
        self._begin_window()

    def _begin_window(self) -> None:
        self._window: list[float] = []
        self._window_begun = self._clock()
        self._was_full = False

    def _set_width(self, width: int) -> None:
        if width < self.width:
            self._last_narrowed = self._clock()
            self._begin_window()
        self.width = max(1, min(width, self._most))
        self.widest, self.narrowest = max(self.widest, self.width), min(self.narrowest, self.width)
        self._wake()

    def _respect_rate_limits(self) -> None:
        limits = self._source.limits if self._source is not None else None
        if limits is not None and limits.remaining <= 0 and limits.reset_seconds > 0:
            self._pause(limits.reset_seconds)

    def _pause(self, seconds: float) -> None:
        self._paused_until = max(self._paused_until, self._clock() + min(seconds, self._longest_pause))
