"""The models of one run: the one that is measured and those that judge, each wrapped once and closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.core.config import RunConfig
from assay.core.model_stack import (
    Cached,
    Limited,
    Timed,
    innermost,
)
from assay.core.run import Stop
from assay.core.seams import FillsBatches, Model, TakesBatches, capabilities_of, close_part, identity_of
from assay.core.usage import anything_answered
from assay.costs.budget import CountedAsJudge
from assay.models.build import make_model
from assay.models.layers.batched import Batched
from assay.models.layers.outage import NAP_SECONDS, WaitsOutOutages
from assay.models.layers.rate_limit import RateLimited
from assay.models.layers.retrying import LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS, Retrying
from assay.models.layers.settings import WithSettings
from assay.models.layers.thinking import WithoutThinking
from assay.user.folder import secret_for_cache
from assay.wording import count_of

if TYPE_CHECKING:
    from assay.core.cache import CompletionCache
    from assay.models.layers.adaptive import Adaptive

WIDEST = 256
"""As many requests at once as a server may be found to take."""


class RequestState(Struct, frozen=True, kw_only=True):
    """How busy the servers of a run are, at this moment."""

    in_flight: int
    limit: int
    waiting: str | None
    """What holds requests back in addition to the limit; None when nothing does."""


PATIENCE_SECONDS = 3600.0
"""How long a server that went away is waited for."""


class ModelPool:
    """Hands out wrapped models by what a user writes for them; the same words give the same model."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._plain: list[Model] = []
        self._judges: dict[str, CountedAsJudge] = {}
        self._rate_limited: list[RateLimited] = []
        self._outage_waiters: list[WaitsOutOutages] = []
        self._limits: list[Adaptive | Limited] = []
        self._retrying: list[Retrying] = []
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
        generation: Mapping[str, Any] | None = None,
    ) -> Model:
        """Another model of the run, such as a judge: same cache, same retries, and its own pace or that of the run.

        `timeout_seconds` is for one answer of the model itself: neither queueing nor an outage counts.
        """
        key = f"{spec} {sorted((options or {}).items())} {timeout_seconds} {sorted((generation or {}).items())}"
        if key not in self._judges:
            made = make_model(spec, options or {})
            wrapped = self.wrap(
                made,
                requests_per_minute=requests_per_minute,
                concurrency=concurrency,
                timeout_seconds=timeout_seconds,
            )
            self._judges[key] = CountedAsJudge(WithSettings(wrapped, generation) if generation else wrapped)
        return self._judges[key]

    @property
    def judges(self) -> list[CountedAsJudge]:
        """The other models that have been asked for, with their names as prices know them."""
        return list(self._judges.values())

    def wrap(
        self,
        model: Model,
        *,
        requests_per_minute: float | None = None,
        concurrency: int | None = None,
        timeout_seconds: float | None = None,
        keep_thinking: bool = False,
    ) -> Model:
        """The model with everything the config asks for around it. See `core/model_stack.py` for the order."""
        self._plain.append(model)
        config = self._config
        requests_per_minute = requests_per_minute or config.requests_per_minute
        can = capabilities_of(model)
        wrapped = model
        if isinstance(model, TakesBatches):
            wrapped = Batched(model, config.batch_size)
        elif isinstance(source := innermost(model), FillsBatches):
            source.set_batch_size(config.batch_size)
        limits = [seconds for seconds in (timeout_seconds, config.timeout_seconds) if seconds is not None]
        if limits:
            wrapped = Timed(wrapped, min(limits))
        if config.adaptive and concurrency is None and can.remote:
            limit: Adaptive | Limited = self._adaptive(wrapped)
        else:
            limit = Limited(wrapped, min(concurrency or config.concurrency, config.concurrency))
        self._limits.append(limit)
        wrapped = limit
        if requests_per_minute or config.tokens_per_minute:
            limited = RateLimited(
                wrapped,
                requests_per_minute=requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
                is_over=self._is_over_for_who_has_no_answer,
            )
            self._rate_limited.append(limited)
            wrapped = limited
        if config.patience_seconds and can.remote:
            waiter = WaitsOutOutages(wrapped, patience_seconds=config.patience_seconds)
            self._outage_waiters.append(waiter)
            wrapped = waiter
        if config.retries:
            # no wait is longer than the patience; without any, a server is still given the time of a back-off
            longest = min(config.patience_seconds or LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS)
            retrying = Retrying(
                wrapped, retries=config.retries, longest_retry_after_seconds=longest, sleep=self._wait_for_server
            )
            self._retrying.append(retrying)
            wrapped = retrying
        if can.cacheable if config.cache is None else config.cache:
            wrapped = Cached(wrapped, self._open_cache(), identity_of(model))
        return wrapped if keep_thinking else WithoutThinking(wrapped)

    def _adaptive(self, model: Model) -> Adaptive:
        """As many requests at once as the server turns out to take."""
        from assay.models.layers.adaptive import LONGEST_PAUSE_SECONDS, Adaptive  # models here need none

        return Adaptive(
            model,
            most=WIDEST,
            longest_pause_seconds=min(self._config.patience_seconds or LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS),
            sleep=self._wait_for_server,
            is_over=self._is_over_for_who_has_no_answer,
        )

    def tell(self, stop: Stop, say: Callable[[str], None]) -> None:
        """Set what reports an outage, what to end when it lasts too long, and what ends waiting to retry."""
        self._stop = stop
        for model in self._outage_waiters:
            model.tell(stop, say)

    def request_state(self) -> RequestState | None:
        """Of all models together; None before there is one."""
        if not self._limits:
            return None
        return RequestState(
            in_flight=sum(each.in_flight for each in self._limits),
            limit=sum(each.width for each in self._limits),
            waiting=next(self._reasons_to_wait(), None),
        )

    def _reasons_to_wait(self) -> Iterator[str]:
        """What holds requests back, the weightiest first."""
        yield from (sentence for each in self._outage_waiters if (sentence := each.away) is not None)
        refused = [each.last_failure.message for each in self._retrying if each.waiting and each.last_failure]
        because = f": {refused[0]}" if refused else ""
        paused = max((each.paused_seconds for each in self._limits if not isinstance(each, Limited)), default=0.0)
        if paused >= 1:
            yield f"the server asked for a pause, {paused:.0f} s left{because}"
        if retries := sum(each.waiting for each in self._retrying):
            yield f"{count_of(retries, 'request')} to be retried{because}"
        if turns := sum(each.waiting for each in self._rate_limited):
            yield f"{count_of(turns, 'request')} held back by the limit per minute (--rpm, --tpm)"

    def keep_to_share(self, share: float) -> None:
        """Use only this part of the run's limits a minute: other processes have the rest."""
        for model in self._rate_limited:
            model.keep_to_share(share)

    async def aclose(self) -> None:
        for model in self._plain:
            await close_part(model)
        if self._cache is not None:
            self._cache.close()

    def _is_over_for_who_has_no_answer(self) -> bool:
        """Whether the run is to end, and the attempt at hand, which has had no answer yet, is not to begin."""
        return self._stop.asked and not anything_answered()

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
            from assay.core.cache import CompletionCache  # SQLite, which a model that is not cached does without

            path = Path(self._config.cache_path)
            self._cache = CompletionCache(path, secret_for_cache(path))
        return self._cache


def wrap_alone(
    model: Model,
    *,
    concurrency: int,
    timeout_seconds: float | None = None,
    say: Callable[[str], None],
    stop: Stop | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Model:
    """A model that is asked outside a run, such as a proposer or the judge of `score`: as in a run, without a cache.

    `say` is called when a server is down; nothing waits for one once `stop` was asked. Closing the model
    closes all there is.
    """
    config = RunConfig(model=model.name, concurrency=concurrency, cache=False, patience_seconds=patience_seconds)
    pool = ModelPool(config)
    wrapped = pool.wrap(model, timeout_seconds=timeout_seconds)
    pool.tell(stop or Stop(), say)
    return wrapped


def attempts_in_flight(config: RunConfig, model: Model) -> int:
    """How many attempts to keep going: enough for a server that turns out to take many requests at once."""
    return WIDEST if config.adaptive and capabilities_of(model).remote else config.concurrency
