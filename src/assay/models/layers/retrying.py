"""Retries requests after temporary failures: rate limits, overloads, broken connections."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec

from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper, not_sent
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Request
from assay.overriding import override

FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS = 0.5, 60.0, 600.0


class Retrying(Wrapper):
    """Retries after a retryable failure: as `Retry-After` says, else with exponential back-off and full jitter.

    A true result of `sleep` means that there is to be no retry.
    """

    def __init__(
        self,
        model: Model,
        *,
        retries: int = 5,
        longest_retry_after_seconds: float = LONGEST_RETRY_AFTER_SECONDS,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._retries = retries
        self._longest_retry_after = longest_retry_after_seconds
        self._rng = rng or random.Random()
        self._sleep = sleep
        self.waiting = 0
        """Requests that are waiting to be retried."""
        self.last_failure: Failure | None = None
        """The failure of the last of them."""

    @override
    async def generate(self, request: Request) -> Completion:
        for retry in range(self._retries + 1):
            try:
                completion = await self.model.generate(request)
            except FailureError as error:
                wait = self._wait_seconds(error, retry)
                if wait is None:
                    raise _after_retries(error, retry) from error
                if await self._wait(wait, error.failure):
                    raise not_sent(self.name, f"not retried: the run is ending; {error}") from error
            else:
                return msgspec.structs.replace(completion, retries=retry) if retry else completion
        raise AssertionError("unreachable: the last round returns or raises")

    async def _wait(self, seconds: float, failure: Failure) -> object:
        self.waiting += 1
        self.last_failure = failure
        try:
            return await self._sleep(seconds)
        finally:
            self.waiting -= 1

    def _wait_seconds(self, error: FailureError, retry: int) -> float | None:
        """How long to wait before the next retry; None when there is to be none."""
        if retry >= self._retries or not error.failure.retryable:
            return None
        most = self._longest_retry_after
        backoff = self._rng.random() * min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2.0**retry, most)
        if error.retry_after_seconds is None:
            return backoff
        if error.retry_after_seconds > most:
            return None
        # requests that are given the same moment must not all come back at once
        return min(error.retry_after_seconds + backoff * 0.1, most)


def _after_retries(error: FailureError, retry: int) -> FailureError:
    if not retry:
        return error
    message = f"{error.failure.message} (after {retry} {'retry' if retry == 1 else 'retries'})"
    return FailureError(msgspec.structs.replace(error.failure, message=message), error.retry_after_seconds, error.away)
