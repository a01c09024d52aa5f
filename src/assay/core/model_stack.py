"""Wrappers of a Model, each a Model: `Cached(Retrying(RateLimited(Limited(Timed(Batched(model))))))`.

Each adds one behaviour and knows nothing of the others. Outermost first: an answer from the cache costs no
permission, a retry asks for a new permission, a permission is not held while waiting to retry, and the time limit
counts only what the model itself takes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic, perf_counter
from typing import Any, Protocol

import msgspec

from assay.core.cache import CompletionCache
from assay.core.errors import FailureError
from assay.core.seams import Model
from assay.core.types import Completion, Failure, Request


class Wrapper:
    """A model around a model; passes on everything it does not change."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name

    async def generate(self, request: Request) -> Completion:
        return await self.model.generate(request)

    async def aclose(self) -> None:
        await close_model(self.model)


async def close_model(model: object) -> None:
    """Close a model if it has anything to close."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


class Asked(Wrapper):
    """The model as one attempt sees it: the run's settings fill what a request leaves open."""

    def __init__(self, model: Model, settings: Request, attempt: int) -> None:
        super().__init__(model)
        self._attempt = attempt
        self._settings = settings

    async def generate(self, request: Request) -> Completion:
        settings = self._settings
        changes: dict[str, Any] = {} if self._attempt == 1 else {"attempt": self._attempt}
        for field in ("temperature", "top_p", "max_tokens", "stop", "seed", "logprobs", "extra"):
            value = getattr(settings, field)
            if value is not None and getattr(request, field) is None:
                changes[field] = value
        return await self.model.generate(msgspec.structs.replace(request, **changes) if changes else request)


class Cached(Wrapper):
    """Answers the same request from the cache. Failures are never kept."""

    def __init__(self, model: Model, cache: CompletionCache, identity: Any) -> None:
        super().__init__(model)
        self._cache = cache
        self._identity = identity
        self.hits = 0

    async def generate(self, request: Request) -> Completion:
        key = self._cache.key(self._identity, request)
        found = self._cache.get(key)
        if found is not None:
            self.hits += 1
            return msgspec.structs.replace(found, cached=True)
        completion = await self.model.generate(request)
        self._cache.put(key, completion)
        return completion


class Retrying(Wrapper):
    """Asks again after a failure the adapter called retryable: exponential back-off, full jitter, Retry-After first."""

    def __init__(
        self,
        model: Model,
        *,
        retries: int = 5,
        first_wait_seconds: float = 0.5,
        longest_wait_seconds: float = 60.0,
        longest_retry_after_seconds: float = 600.0,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(model)
        self._retries = retries
        self._first_wait = first_wait_seconds
        self._longest_wait = longest_wait_seconds
        self._longest_retry_after = longest_retry_after_seconds
        self._rng = rng or random.Random()
        self._sleep = sleep
        self.retried = 0

    async def generate(self, request: Request) -> Completion:
        for retry in range(self._retries + 1):
            try:
                completion = await self.model.generate(request)
            except FailureError as error:
                wait = self._wait_seconds(error, retry)
                if wait is None:
                    raise _after_retries(error, retry) from error
                self.retried += 1
                await self._sleep(wait)
            else:
                return msgspec.structs.replace(completion, retries=retry) if retry else completion
        raise AssertionError("unreachable: the last round returns or raises")

    def _wait_seconds(self, error: FailureError, retry: int) -> float | None:
        """How long to wait before the next try; None when there is to be none."""
        if retry >= self._retries or not error.failure.retryable:
            return None
        backoff = self._rng.random() * min(self._longest_wait, self._first_wait * 2.0**retry)
        if error.retry_after_seconds is None:
            return backoff
        if error.retry_after_seconds > self._longest_retry_after:
            return None
        # a crowd that was told the same moment must not come back in one
        return error.retry_after_seconds + backoff * 0.1


def _after_retries(error: FailureError, retry: int) -> FailureError:
    if not retry:
        return error
    message = f"{error.failure.message} (after {retry} {'retry' if retry == 1 else 'retries'})"
    return FailureError(msgspec.structs.replace(error.failure, message=message), error.retry_after_seconds)


class Limited(Wrapper):
    """At most so many requests at once."""

    def __init__(self, model: Model, concurrency: int) -> None:
        super().__init__(model)
        self._places = asyncio.Semaphore(concurrency)

    async def generate(self, request: Request) -> Completion:
        async with self._places:
            return await self.model.generate(request)


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


class BatchModel(Protocol):
    """A model that takes many requests at once."""

    name: str

    async def generate_batch(self, requests: Sequence[Request]) -> Sequence[Completion | FailureError]:
        """One outcome per request, in their order: one bad answer fails only itself."""
        ...


class Batched:
    """Gathers the requests of concurrent attempts into lists for an adapter that takes lists."""

    def __init__(self, model: BatchModel, batch_size: int) -> None:
        self.model = model
        self.name = model.name
        self._batch_size = batch_size
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def generate(self, request: Request) -> Completion:
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if len(self._waiting) == 1:
            task = asyncio.ensure_future(self._drain())
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await answer

    async def aclose(self) -> None:
        await close_model(self.model)

    async def _drain(self) -> None:
        """One batch after the other, never two at once: most adapters hold one model or one connection."""
        async with self._turn:
            while self._waiting:
                # one turn of the loop lets every attempt that is ready join this batch
                await asyncio.sleep(0)
                batch = self._waiting[: self._batch_size]
                del self._waiting[: self._batch_size]
                batch = [(request, answer) for request, answer in batch if not answer.done()]
                if batch:
                    await self._answer(batch)

    async def _answer(self, batch: list[tuple[Request, asyncio.Future[Completion]]]) -> None:
        started = perf_counter()
        try:
            completions = await self.model.generate_batch([request for request, _ in batch])
            if len(completions) != len(batch):
                message = f"the adapter returned {len(completions)} outputs for {len(batch)} prompts"
                raise FailureError(Failure(stage="model", part=self.name, kind="bad_output", message=message))
        except Exception as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        share = (perf_counter() - started) / len(batch)
        for (_, answer), outcome in zip(batch, completions, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, FailureError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome if outcome.seconds else msgspec.structs.replace(outcome, seconds=share))
