"""The models of one run, the evaluated one and the judges: each is wrapped once, and all are closed together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.model_stack import Limited, Timed, innermost
from assay.core.run import Stop
from assay.core.seams import (
    FillsBatches,
    HasUsualTimeLimit,
    Model,
    NeedsKey,
    TakesBatches,
    close_part,
    identity_of,
    offers_of,
)
from assay.core.usage import anything_answered
from assay.costs.budget import CountedAsJudge
from assay.models.adapters.providers import chosen_address
from assay.models.layers.batched import Batched
from assay.models.layers.cached import Cached, is_uncertain, is_wanted, refusal_of
from assay.models.layers.outage import NAP_SECONDS, WaitsOutOutages
from assay.models.layers.rate_limit import RateLimited
from assay.models.layers.retrying import LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS, Retrying
from assay.models.layers.settings import WithSettings
from assay.models.layers.thinking import WithoutThinking
from assay.models.layers.waiting import WithoutWaiting
from assay.models.model_names import make_model
from assay.models.served import served_by
from assay.run_config import RunConfig
from assay.text.wording import count_of
from assay.user.folder import secret_for_cache

if TYPE_CHECKING:
    from assay.models.completion_cache import CompletionCache
    from assay.models.layers.adaptive import Adaptive

WIDEST = 256
"""The most requests in flight that an adaptive limit may reach."""


class RequestState(Struct, frozen=True, kw_only=True):
    """How busy the servers of a run are."""

    in_flight: int
    limit: int
    waiting: str | None
    """What holds requests back, other than the limit; None when nothing does."""


PATIENCE_SECONDS = 3600.0
"""How long to wait out a server outage."""


class ModelPool:
    """Builds and wraps the models of a run; the same spec and options give the same model."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._models: list[Model] = []
        self._judges: dict[str, CountedAsJudge] = {}
        self.asked_by: dict[tuple[str, str], list[CountedAsJudge]] = {}
        """The judges and other models of each scorer, by its task and key."""
        self._rate_limited: list[RateLimited] = []
        self._outage_waiters: list[WaitsOutOutages] = []
        self._limits: list[Adaptive | Limited] = []
        self._retrying: list[Retrying] = []
        self._cache: CompletionCache | None = None
        self._unproven: list[Cached] = []
        """Models that may have changed since their answers were given: not cached before `check_cached`."""
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
        key: str = "",
        label: str | None = None,
        asked_by: tuple[str, str] | None = None,
    ) -> Model:
        """Another model of the run, such as a judge: same cache, same retries, and its own rate limits or the run's.

        `timeout_seconds` limits one answer of the model itself; queueing and outages do not count. Tables show the
        `label`, and the `key` where two models have one name. `asked_by` is the task and the key of a scorer.
        """
        made_of = f"{spec} {sorted((options or {}).items())} {timeout_seconds} {sorted((generation or {}).items())}"
        if made_of not in self._judges:
            self._refuse_usual_address(spec, options or {})
            model = make_model(spec, options)
            if not offers_of(model).answers:
                raise UsageError(f"`{spec}` gives no answers, and a task calls it; name another with --model-for")
            wrapped = self.wrap(
                model,
                requests_per_minute=requests_per_minute,
                concurrency=concurrency,
                timeout_seconds=timeout_seconds,
            )
            judge = WithSettings(wrapped, generation) if generation else wrapped
            self._judges[made_of] = CountedAsJudge(judge, key=key, label=label)
            self._name_judges()
        if asked_by is not None:
            self.asked_by.setdefault(asked_by, []).append(self._judges[made_of])
        return self._judges[made_of]

    def _name_judges(self) -> None:
        """Give every judge a name of its own, whatever the order they were built in."""
        for same in _by_name(self.judges, lambda judge: judge.model.name).values():
            for judge in same:
                judge.rename(alone=len(same) == 1)
        for name, same in _by_name(self.judges, lambda judge: judge.name).items():
            for number, judge in enumerate(same[1:], 2):
                judge.name = f"{name} ({number})"

    def _refuse_usual_address(self, spec: str, options: Mapping[str, Any]) -> None:
        """`--model-arg base_url=…` is for evaluated models. A judge of the same kind without an address of its own
        would answer from elsewhere, with the same key: the user says where."""
        adapter, _, argument = spec.partition(":")
        address = self._config.model_options.get("base_url")
        if address and adapter == self._config.model.partition(":")[0] and not chosen_address(argument, options):
            raise UsageError(
                f"--model-arg base_url={address} is for the evaluated model, and `{spec}`, which a task calls too, has "
                f"no address: write each after its model, `--model {self._config.model}@{address}` and "
                f"`--model-for 'KEY={spec}@URL'`, or `base_url` into its model file"
            )

    @property
    def built(self) -> list[Model]:
        """Every model of the run, without wrappers."""
        return list(self._models)

    @property
    def judges(self) -> list[CountedAsJudge]:
        """The judges and other models built so far, in an order that does not depend on when."""
        return [judge for _, judge in sorted(self._judges.items())]

    @property
    def judges_by_model(self) -> dict[str, CountedAsJudge]:
        """The same by the names of their models, without labels, which may change; several of one name are numbered."""
        groups = _by_name(self.judges, lambda judge: judge.model.name)
        return {
            name if number == 1 else f"{name} ({number})": judge
            for name, same in groups.items()
            for number, judge in enumerate(same, 1)
        }

    def wrap(
        self,
        model: Model,
        *,
        requests_per_minute: float | None = None,
        concurrency: int | None = None,
        timeout_seconds: float | None = None,
        keep_thinking: bool = False,
    ) -> Model:
        """The model inside the wrappers that the config asks for. See `core/model_stack.py` for the order."""
        source = innermost(model)
        if isinstance(source, NeedsKey):
            source.require_key()
        self._models.append(model)
        config = self._config
        requests_per_minute = requests_per_minute or config.requests_per_minute
        can = offers_of(model)
        wrapped = model
        if isinstance(model, TakesBatches):
            wrapped = Batched(model, config.batch_size)
        elif isinstance(source, FillsBatches):
            source.set_batch_size(config.batch_size)
        limits = [seconds for seconds in (timeout_seconds, config.timeout_seconds) if seconds is not None]
        if limits:
            wrapped = Timed(wrapped, min(limits))
            if isinstance(source, HasUsualTimeLimit):
                source.allow_seconds(min(limits))
        if config.adaptive and concurrency is None and can.remote:
            limit: Adaptive | Limited = self._adaptive(wrapped)
        else:
            limit = Limited(wrapped, min(concurrency or config.concurrency, config.concurrency))
        self._limits.append(limit)
        wrapped = limit
        paced = requests_per_minute or config.tokens_per_minute
        if paced:
            limited = RateLimited(
                wrapped,
                requests_per_minute=requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
                is_over=self._is_ending_without_answer,
            )
            self._rate_limited.append(limited)
            wrapped = limited
        if config.patience_seconds and can.remote:
            waiter = WaitsOutOutages(wrapped, patience_seconds=config.patience_seconds)
            self._outage_waiters.append(waiter)
            wrapped = waiter
        if config.retries:
            # no wait is longer than the patience; without any, there is still time for a back-off
            longest = min(config.patience_seconds or LONGEST_BACKOFF_SECONDS, LONGEST_RETRY_AFTER_SECONDS)
            retrying = Retrying(
                wrapped, retries=config.retries, longest_retry_after_seconds=longest, sleep=self._wait_for_server
            )
            self._retrying.append(retrying)
            wrapped = retrying
        if paced or can.remote:
            wrapped = WithoutWaiting(wrapped)
        if is_wanted(config, can):
            wrapped = self._cached(wrapped, model)
        return wrapped if keep_thinking else WithoutThinking(wrapped)

    def _cached(self, wrapped: Model, model: Model) -> Cached:
        known = not is_uncertain(self._config, offers_of(model))
        cached = Cached(
            wrapped, self._open_cache() if known else None, identity_of(model), reads=self._config.cache_reads
        )
        if not known:
            self._unproven.append(cached)
        return cached

    def _adaptive(self, model: Model) -> Adaptive:
        """A limit on requests in flight that adapts to the server."""
        from assay.models.layers.adaptive import LONGEST_PAUSE_SECONDS, Adaptive  # only remote models need it

        return Adaptive(
            model,
            most=WIDEST,
            longest_pause_seconds=min(self._config.patience_seconds or LONGEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS),
            sleep=self._wait_for_server,
            is_over=self._is_ending_without_answer,
        )

    async def check_cached(self) -> list[str]:
        """Cache the models that say which weights they serve; refuse the others, or return why they are not cached."""
        notes = []
        while self._unproven:
            cached = self._unproven.pop()
            served = await served_by(cached)
            if served is not None and served.strong:
                cached.use(self._open_cache(), served.strong)
            else:
                notes.append(refusal_of(cached, self._config))
        return notes

    def bind(self, stop: Stop, say: Callable[[str], None]) -> None:
        """`say` reports an outage; `stop` ends the run when it lasts too long, and ends waiting to retry."""
        self._stop = stop
        for model in self._outage_waiters:
            model.bind(stop, say)

    def name_run(self, identity: str) -> None:
        """Say which run the models answer, before the first request: its own answers are not those of earlier runs."""
        if self._cache is not None:
            self._cache.name_run(identity)

    def request_state(self) -> RequestState | None:
        """The state of all models together; None before there is one."""
        if not self._limits:
            return None
        return RequestState(
            in_flight=sum(limit.in_flight for limit in self._limits),
            limit=sum(limit.width for limit in self._limits),
            waiting=next(self._reasons_to_wait(), None),
        )

    def _reasons_to_wait(self) -> Iterator[str]:
        """What holds requests back, the most important first."""
        yield from (message for model in self._outage_waiters if (message := model.away) is not None)
        failures = [model.last_failure.message for model in self._retrying if model.waiting and model.last_failure]
        because = f": {failures[0]}" if failures else ""
        paused = max((limit.paused_seconds for limit in self._limits if not isinstance(limit, Limited)), default=0.0)
        if paused >= 1:
            yield f"the server asked for a pause, {paused:.0f} s left{because}"
        if retries := sum(model.waiting for model in self._retrying):
            yield f"{count_of(retries, 'request')} to be retried{because}"
        if queued := sum(model.waiting for model in self._rate_limited):
            yield f"{count_of(queued, 'request')} held back by the limit per minute (--rpm, --tpm)"

    def keep_to_share(self, share: float) -> None:
        """Use only this share of the run's limits per minute: other processes have the rest."""
        for model in self._rate_limited:
            model.keep_to_share(share)

    async def aclose(self) -> None:
        for model in self._models:
            await close_part(model)
        if self._cache is not None:
            self._cache.close()

    def _is_ending_without_answer(self) -> bool:
        """Whether the run is stopping and the current attempt has had no answer: abandoning it costs nothing."""
        return self._stop.requested and not anything_answered()

    async def _wait_for_server(self, seconds: float) -> bool:
        """Wait; return early with True when the run is stopping: a retry would be a new request."""
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            if self._stop.requested:
                return True
            await asyncio.sleep(min(left, NAP_SECONDS))
        return self._stop.requested

    def _open_cache(self) -> CompletionCache:
        if self._cache is None:
            from assay.models.completion_cache import (
                CompletionCache,  # imports SQLite, which is needed only for cached models
            )

            path = Path(self._config.cache_path)
            self._cache = CompletionCache(path, secret_for_cache(path))
        return self._cache


def _by_name(
    judges: Iterable[CountedAsJudge], name_of: Callable[[CountedAsJudge], str]
) -> dict[str, list[CountedAsJudge]]:
    groups: dict[str, list[CountedAsJudge]] = {}
    for judge in judges:
        groups.setdefault(name_of(judge), []).append(judge)
    return groups


def wrap_alone(
    model: Model,
    *,
    concurrency: int,
    timeout_seconds: float | None = None,
    say: Callable[[str], None],
    stop: Stop | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
    requests_per_minute: float | None = None,
) -> Model:
    """Wrap a model for use outside a run, such as a proposer or the judge of `score`: as in a run, without a cache.

    `say` is called when a server is down; nothing waits for the server after a `stop`. Closing the wrapped model
    closes everything.
    """
    config = RunConfig(model=model.name, concurrency=concurrency, cache=False, patience_seconds=patience_seconds)
    pool = ModelPool(config)
    wrapped = pool.wrap(model, timeout_seconds=timeout_seconds, requests_per_minute=requests_per_minute)
    pool.bind(stop or Stop(), say)
    return wrapped


def attempts_in_flight(config: RunConfig, model: Model) -> int:
    """How many attempts to keep in flight: enough for an adaptive limit to reach its maximum."""
    return WIDEST if config.adaptive and offers_of(model).remote else config.concurrency
