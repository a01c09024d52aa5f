"""The models of one run: the one that is measured and those that judge, each wrapped once and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from assay.core.cache import CompletionCache
from assay.core.config import RunConfig
from assay.core.model_stack import (
    LONGEST_BACKOFF_SECONDS,
    LONGEST_RETRY_AFTER_SECONDS,
    Cached,
    Limited,
    Retrying,
    Timed,
    close_model,
)
from assay.core.run import Stop
from assay.core.seams import Model
from assay.models.adaptive import LONGEST_PAUSE_SECONDS, Adaptive
from assay.models.batched import Batched
from assay.models.budget import Judging
from assay.models.build import make_model
from assay.models.outage import NAP_SECONDS, Enduring
from assay.models.rate_limit import RateLimited
from assay.user.folder import secret_for_cache

WIDEST = 256
"""As many requests at once as a server may be found to take."""


class ModelPool:
    """Hands out wrapped models by what a user writes for them; the same words give the same model."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._plain: list[Model] = []
        self._judges: dict[str, Judging] = {}
        self._rate_limited: list[RateLimited] = []
        self._enduring: list[Enduring] = []
        self._cache: CompletionCache | None = None
        self._stop = Stop()

    def model_for(
        self,
        spec: str,
        options: dict[str, Any] | None = None,
        *,
        requests_per_minute: float | None = None,
        concurrency: int | None = None,
        timeout_seconds: float | None = None,
    ) -> Model:
        """Another model of the run, such as a judge: same cache, same retries, and its own pace or that of the run.

        `timeout_seconds` is for one answer of the model itself: neither queueing nor an outage counts.
        """
        key = f"{spec} {sorted((options or {}).items())} {timeout_seconds}"
        if key not in self._judges:
            made = make_model(spec, options or {})
            wrapped = self.wrap(
                made,
                requests_per_minute=requests_per_minute,
                concurrency=concurrency,
                timeout_seconds=timeout_seconds,
            )
            self._judges[key] = Judging(wrapped)
        return self._judges[key]

    @property
    def judges(self) -> list[Judging]:
        """The other models that have been asked for, with their names as prices know them."""
        return list(self._judges.values())

    def wrap(
        self,
        model: Model,
        *,
        requests_per_minute: float | None = None,
        concurrency: int | None = None,
        timeout_seconds: float | None = None,
    ) -> Model:
        """The model with everything the config asks for around it. See `core/model_stack.py` for the order."""
        self._plain.append(model)
        config = self._config
        requests_per_minute = requests_per_minute or config.requests_per_minute
        wrapped: Any = model
        if hasattr(model, "generate_batch"):
            wrapped = Batched(wrapped, config.batch_size)
        elif hasattr(model, "take_batch_size"):
            model.take_batch_size(config.batch_size)  # it fills its batches itself, as answers come and go
        limits = [seconds for seconds in (timeout_seconds, config.timeout_seconds) if seconds is not None]
        if limits:
            wrapped = Timed(wrapped, min(limits))
        if config.adaptive and concurrency is None and getattr(model, "remote", False):
            pause = min(config.patience_seconds or LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
            wrapped = Adaptive(
                wrapped, source=model, most=WIDEST, longest_pause_seconds=pause, sleep=self._wait_for_server
            )
        else:
            wrapped = Limited(wrapped, min(concurrency or config.concurrency, config.concurrency))
        if requests_per_minute or config.tokens_per_minute:
            wrapped = RateLimited(
                wrapped, requests_per_minute=requests_per_minute, tokens_per_minute=config.tokens_per_minute
            )
            self._rate_limited.append(wrapped)
        if config.patience_seconds and getattr(model, "remote", False):
            wrapped = Enduring(wrapped, patience_seconds=config.patience_seconds)
            self._enduring.append(wrapped)
        if config.retries:
            # no wait is longer than the patience; without any, a server is still given the time of a back-off
            longest = min(config.patience_seconds or LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS)
            wrapped = Retrying(
                wrapped, retries=config.retries, longest_retry_after_seconds=longest, sleep=self._wait_for_server
            )
        if getattr(model, "cacheable", False) if config.cache is None else config.cache:
            wrapped = Cached(wrapped, self._open_cache(), identity_of(model))
        result: Model = wrapped
        return result

    def tell(self, stop: Stop, say: Callable[[str], None]) -> None:
        """Whom to tell when a server is away, what to end when it stays away, and what ends waiting to retry."""
        self._stop = stop
        for model in self._enduring:
            model.tell(stop, say)

    def keep_to_share(self, share: float) -> None:
        """Use only this part of the run's limits a minute: other processes have the rest."""
        for model in self._rate_limited:
            model.keep_to_share(share)

    async def aclose(self) -> None:
        for model in self._plain:
            await close_model(model)
        if self._cache is not None:
            self._cache.close()

    async def _wait_for_server(self, seconds: float) -> bool:
        """Whether the run is to end meanwhile: what would be asked then is something new."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            if self._stop.asked:
                return True
            await asyncio.sleep(min(left, NAP_SECONDS))
        return self._stop.asked

    def _open_cache(self) -> CompletionCache:
        if self._cache is None:
            path = Path(self._config.cache_path)
            self._cache = CompletionCache(path, secret_for_cache(path))
        return self._cache


def attempts_in_flight(config: RunConfig, model: Model) -> int:
    """How many attempts to keep going: enough for a server that turns out to take many requests at once."""
    return WIDEST if config.adaptive and getattr(model, "remote", False) else config.concurrency


def identity_of(model: Model) -> dict[str, Any]:
    """What tells this model from every other: its name and its settings, never a secret."""
    return {"name": model.name, **getattr(model, "settings", {})}
