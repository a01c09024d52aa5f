"""Wrappers of a Model, each a Model: `Cached(Retrying(Limited(Timed(model))))`; `models/pool.py` adds more.

Each adds one behaviour and knows nothing of the others. Outermost first: an answer from the cache costs no
permission, a retry asks for a new permission, a permission is not held while waiting to retry, and the time limit
counts only what the model itself takes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from assay.core.attempt import failure_of
from assay.core.errors import AssayError, FailureError
from assay.core.seams import Capabilities, HasSettings, Model, capabilities_of, close_part
from assay.core.types import Completion, Failure, Request
from assay.core.usage import note, strike

if TYPE_CHECKING:
    from assay.core.cache import CompletionCache

_Read = TypeVar("_Read")
LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS = 60.0, 600.0


class Wrapper:
    """A model around a model; passes on everything it does not change."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name

    async def generate(self, request: Request) -> Completion:
        return await self.model.generate(request)

    @property
    def capabilities(self) -> Capabilities:
        return capabilities_of(self.model)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.model.settings if isinstance(self.model, HasSettings) else {}

    async def aclose(self) -> None:
        await close_part(self.model)


def innermost(model: Model) -> Model:
    """The model itself, however many wrappers are around it."""
    while isinstance(model, Wrapper):
        model = model.model
    return model


def given_settings(settings: Request) -> dict[str, Any]:
    """What a run says about how to answer, by field: found out once, because every request is held against it."""
    return {field: value for field, value in msgspec.structs.asdict(settings).items() if value is not None}


class WithRunSettings(Wrapper):
    """The model as one attempt sees it: the run's settings fill what a request leaves open, its account is kept."""

    def __init__(self, model: Model, settings: Mapping[str, Any], attempt: int) -> None:
        super().__init__(model)
        self._attempt = attempt
        self._settings = settings
        self.last: Request | None = None
        """What was asked last, for the record of an attempt that gets no answer."""

    async def generate(self, request: Request) -> Completion:
        self.last = request
        changes: dict[str, Any] = {} if self._attempt == 1 else {"attempt": self._attempt}
        for field, value in self._settings.items():
            if getattr(request, field) is None:
                changes[field] = value
        request = msgspec.structs.replace(request, **changes) if changes else request
        try:
            completion = await self.model.generate(request)
        except AssayError:
            raise
        except Exception as error:  # a bug of the model, which the solver that asked it is not to blame for
            raise FailureError(failure_of(error, "model", self.name)) from error
        note(self.name, request, completion, judge=False)
        return completion


class Cached(Wrapper):
    """Answers the same request from the cache. Failures are never kept."""

    def __init__(self, model: Model, cache: CompletionCache, identity: Any) -> None:
        super().__init__(model)
        self._cache = cache
        self._identity = identity

    async def generate(self, request: Request) -> Completion:
        ask, request = request.fresh, msgspec.structs.replace(request, fresh=False) if request.fresh else request
        key = self._cache.key(self._identity, request)
        found = None if ask else self._cache.get(key)
        if found is not None:
            return msgspec.structs.replace(found, cached=True)
        completion = await self.model.generate(request)
        self._cache.put(key, completion)
        return completion


async def read_answer(model: Model, request: Request, read: Callable[[Completion], _Read]) -> tuple[Completion, _Read]:
    """An answer and what `read` makes of it. One from the cache that cannot be read is asked for again: whoever runs
    the same command once more wants another answer, not the same failure."""
    completion = await model.generate(request)
    try:
        return completion, read(completion)
    except Exception:
        if not completion.cached:
            raise
    strike(completion)
    completion = await model.generate(msgspec.structs.replace(request, fresh=True))
    return completion, read(completion)


class Retrying(Wrapper):
    """Asks again after a failure the adapter called retryable: exponential back-off, full jitter, Retry-After first.

    `sleep` may answer that nobody is to be asked again.
    """

    def __init__(
        self,
        model: Model,
        *,
        retries: int = 5,
        first_wait_seconds: float = 0.5,
        longest_wait_seconds: float = LONGEST_BACKOFF_SECONDS,
        longest_retry_after_seconds: float = LONGEST_RETRY_AFTER_SECONDS,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._retries = retries
        self._first_wait = first_wait_seconds
        self._longest_wait = longest_wait_seconds
        self._longest_retry_after = longest_retry_after_seconds
        self._rng = rng or random.Random()
        self._sleep = sleep

    async def generate(self, request: Request) -> Completion:
        for retry in range(self._retries + 1):
            try:
                completion = await self.model.generate(request)
            except FailureError as error:
                wait = self._wait_seconds(error, retry)
                if wait is None or await self._sleep(wait):
                    raise _after_retries(error, retry) from error
            else:
                return msgspec.structs.replace(completion, retries=retry) if retry else completion
        raise AssertionError("unreachable: the last round returns or raises")

    def _wait_seconds(self, error: FailureError, retry: int) -> float | None:
        """How long to wait before the next try; None when there is to be none."""
        if retry >= self._retries or not error.failure.retryable:
            return None
        most = self._longest_retry_after
        backoff = self._rng.random() * min(self._longest_wait, self._first_wait * 2.0**retry, most)
        if error.retry_after_seconds is None:
            return backoff
        if error.retry_after_seconds > most:
            return None
        # a crowd that was told the same moment must not come back in one
        return min(error.retry_after_seconds + backoff * 0.1, most)


def _after_retries(error: FailureError, retry: int) -> FailureError:
    if not retry:
        return error
    message = f"{error.failure.message} (after {retry} {'retry' if retry == 1 else 'retries'})"
    return FailureError(msgspec.structs.replace(error.failure, message=message), error.retry_after_seconds, error.away)


class Limited(Wrapper):
    """At most so many requests at once."""

    def __init__(self, model: Model, concurrency: int) -> None:
        super().__init__(model)
        self._places = asyncio.Semaphore(concurrency)

    async def generate(self, request: Request) -> Completion:
        async with self._places:
            return await self.model.generate(request)


class Timed(Wrapper):
    """Gives up on a request after a time limit: a failure of kind `timeout`, never an empty answer."""

    def __init__(self, model: Model, timeout_seconds: float) -> None:
        super().__init__(model)
        self._timeout = timeout_seconds

    async def generate(self, request: Request) -> Completion:
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                return await self.model.generate(request)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            message = f"no answer within {self._timeout:g} s"
            raise FailureError(
                Failure(stage="model", part=self.name, kind="timeout", message=message, retryable=False)
            ) from error
