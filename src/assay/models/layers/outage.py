"""Waits out a server outage: all requests wait except one, which probes whether the server is back.

A server is unavailable if it answered before and now does not listen, or rejects every request (429, 502, 503, 504,
529) with no answer in between. Waiting for it uses up no retries. A failure that only one request meets is left to
`Retrying`.

A server that never listened, or that rejects everything for good (wrong key, unknown model, no credit), is not waited
for: the run stops before it has failed sample after sample. No wait is longer than what is left of the patience,
whatever the server says in `Retry-After`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from time import monotonic

from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper, not_sent
from assay.core.run import Stop
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.overriding import override

IN_A_ROW = 4
"""This many rejections without an answer in between are an outage; fewer than the retries of a request."""

HOPELESS_IN_A_ROW = 20
"""This many failures in a row that only a person can fix end the run."""
NEVER_SECONDS = 10.0
"""How long a server may take to begin to listen."""

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0
NAP_SECONDS = 1.0
"""How often a waiting request checks whether the run is to stop."""
REPORT_SECONDS = 30.0
AGAIN_SECONDS = 60.0
"""How long after one report the next outage may be reported: a server may come and go."""
RATE_LIMIT_REPORT_SECONDS = 300.0
"""Rate limiting is no outage, and displays show it while requests wait."""
WORTH_REPORTING_SECONDS = 2.0
"""A server that is only overloaded is back sooner."""


class WaitsOutOutages(Wrapper):
    """Waits out an outage, up to a limit; then the run stops by itself, and can be resumed."""

    def __init__(
        self,
        model: Model,
        *,
        patience_seconds: float,
        clock: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._patience = patience_seconds
        self._clock, self._sleep = clock, sleep
        self._answered = self._given_up = False
        self._in_a_row = self._hopeless_in_a_row = 0
        self._hopeless_since = 0.0
        self._callers: set[int] = set()
        self._away_since: float | None = None
        self._rate_limited = False
        """Whether the server only limits the rate."""
        self._reported_at: float | None = None
        """When the present outage was last reported; None before it was."""
        self._last_report = self._last_rate_limit_report = -inf
        self._wait_seconds = FIRST_WAIT_SECONDS
        self._probing = False
        self._waiting: list[asyncio.Future[None]] = []
        self._stop = Stop()
        self._say: Callable[[str], None] = lambda sentence: None

    def bind(self, stop: Stop, say: Callable[[str], None]) -> None:
        """`say` reports an outage; `stop` ends the run when it lasts too long."""
        self._stop, self._say = stop, say

    @override
    async def generate(self, request: Request) -> Completion:
        call = id(request)
        while True:
            probing = await self._wait_for_turn()
            try:
                completion = await self.model.generate(request)
            except FailureError as error:
                if not self._is_outage(error, call, probing=probing):
                    if self._given_up:  # the run stops because of it, and reports it once
                        raise not_sent(self.name, f"given up: {error}") from error
                    raise
            else:
                self._answered = True
                self._back()
                return completion
            finally:
                if probing:
                    self._probing = False
                    self._wake_one()

    @property
    def away(self) -> str | None:
        """A message that the server does not answer, and for how long; None while it does."""
        since = self._away_since
        return None if since is None else f"{self.name}: {self._state} for {self._clock() - since:.0f} s"

    @property
    def _state(self) -> str:
        return "rate limited" if self._rate_limited else "no answer"

    async def _wait_for_turn(self) -> bool:
        """Return at once while the server is available. During an outage, one call at a time returns, after a wait, to
        probe it: return whether this is that call."""
        while self._away_since is not None and not self._given_up:
            if not self._probing:
                self._probing = True
                try:
                    await self._nap(min(self._wait_seconds, self._patience_left()))
                except BaseException:
                    self._probing = False
                    self._wake_one()
                    raise
                return True
            await wait_until_woken(self._waiting, self._wake_one)
        return False

    def _patience_left(self) -> float:
        return max(0.0, (self._away_since or 0.0) + self._patience - self._clock())

    async def _nap(self, seconds: float) -> None:
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            await self._sleep(min(left, NAP_SECONDS))
            if self._stop.requested:
                self._stop.now()  # nothing that could be lost is in flight

    def _is_outage(self, error: FailureError, call: int, *, probing: bool) -> bool:
        """Whether the failure means an outage, so that the request is to wait and be sent again."""
        if error.away is None or self._given_up:
            return False
        if error.away == "closed" or (error.away == "unreachable" and not self._answered):
            self._end_if_hopeless(error)
            return False
        self._in_a_row += 1
        self._callers.add(call)
        now = self._clock()
        if self._away_since is None:
            if self._in_a_row < IN_A_ROW or (error.away == "refusing" and len(self._callers) < 2):
                return False
            self._away_since, self._reported_at = now, None
        elif now - self._away_since >= self._patience:
            self._give_up(now - self._away_since)
            return False
        if error.retry_after_seconds is not None:
            self._wait_seconds = max(error.retry_after_seconds, 0.1)
        elif probing:  # the others were sent before the outage was known
            self._wait_seconds = min(self._wait_seconds * 2, LONGEST_WAIT_SECONDS)
        self._rate_limited = error.failure.kind == "rate_limit"
        if self._rate_limited:
            self._report_rate_limit(error, now, now - self._away_since)
        else:
            self._report(error, now, now - self._away_since)
        return True

    def _end_if_hopeless(self, error: FailureError) -> None:
        now = self._clock()
        if not self._hopeless_in_a_row:
            self._hopeless_since = now
        self._hopeless_in_a_row += 1
        if self._hopeless_in_a_row < HOPELESS_IN_A_ROW:
            return
        if error.away == "closed":
            self._stop.end(f"{self.name}: {error}; check the key, the model's name and base_url")
        elif now - self._hopeless_since >= NEVER_SECONDS:
            self._stop.end(f"{self.name}: {error}; check that it is running and that base_url is right")

    def _report(self, error: FailureError, now: float, away_seconds: float) -> None:
        if self._reported_at is None:
            if away_seconds + self._wait_seconds < WORTH_REPORTING_SECONDS or now - self._last_report < AGAIN_SECONDS:
                return
            self._say(f"{error}; waiting until it is back (Ctrl-C is safe: nothing finished is lost)")
        elif now - self._reported_at < REPORT_SECONDS:
            return
        else:
            self._say(f"{self.name}: no answer for {away_seconds:.0f} s, still waiting")
        self._reported_at = self._last_report = now

    def _report_rate_limit(self, error: FailureError, now: float, away_seconds: float) -> None:
        if (
            away_seconds + self._wait_seconds < WORTH_REPORTING_SECONDS
            or now - self._last_rate_limit_report < RATE_LIMIT_REPORT_SECONDS
        ):
            return
        self._last_rate_limit_report = now
        self._say(f"{self.name}: rate limited, requests wait as the server asks: {error.failure.message}")

    def _back(self) -> None:
        self._in_a_row = self._hopeless_in_a_row = 0
        self._callers.clear()
        if self._away_since is not None:
            now = self._clock()
            if self._reported_at is not None:
                self._say(f"{self.name}: answers again after {now - self._away_since:.0f} s")
                self._last_report = now
            self._away_since = None
            self._wait_seconds = FIRST_WAIT_SECONDS
            self._wake_all()

    def _give_up(self, seconds: float) -> None:
        self._given_up = True
        waited = f"{seconds / 60:,.0f} minutes" if seconds >= 90 else f"{seconds:,.0f} s"
        self._stop.end(f"{self.name} has not answered for {waited} (--patience)")
        self._stop.now()  # what is in flight waits for the same server; it is sent when the run is resumed
        self._wake_all()

    def _wake_one(self) -> None:
        while self._waiting:
            waiter = self._waiting.pop(0)
            if not waiter.done():  # it may have been cancelled
                waiter.set_result(None)
                return

    def _wake_all(self) -> None:
        while self._waiting:
            self._wake_one()


async def wait_until_woken(waiting: list[asyncio.Future[None]], wake_another: Callable[[], None]) -> None:
    """Wait until woken; a waiter that is cancelled wakes another."""
    waiter = asyncio.get_running_loop().create_future()
    waiting.append(waiter)
    try:
        await waiter
    except asyncio.CancelledError:
        if waiter in waiting:
            waiting.remove(waiter)
        wake_another()
        raise
