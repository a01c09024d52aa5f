"""Answers from the cache, instead of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from assay.core.describe import ModelOffers
from assay.core.draws import is_sampled
from assay.core.errors import UsageError
from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Draw, Request
from assay.overriding import override
from assay.run_config import RunConfig

if TYPE_CHECKING:
    from assay.models.completion_cache import CompletionCache


class Cached(Wrapper):
    """Answers a request from the cache if it asks for the same draw. Failures are not cached."""

    def __init__(self, model: Model, cache: CompletionCache | None, identity: Any, *, reads: bool = True) -> None:
        """Without a cache, nothing is cached before `use`. Without `reads`, answers are only added."""
        super().__init__(model)
        self._cache = cache
        self._identity = identity
        self._reads = reads

    def use(self, cache: CompletionCache, served: Mapping[str, str]) -> None:
        """Use this cache from now on, for as long as the model serves the same."""
        self._cache = cache
        self._identity = {"model": self._identity, "served": served}

    @override
    async def generate(self, request: Request) -> Completion:
        plain = msgspec.structs.replace(request, fresh=False) if request.fresh else request
        known = _as_known(plain)
        if known is None or self._cache is None:
            return await self.model.generate(plain)
        key = self._cache.key(self._identity, known)
        if self._reads and not request.fresh and (completion := self._cache.get(key)) is not None:
            return completion
        completion = await self.model.generate(plain)
        self._cache.put(key, completion)
        return completion


def is_wanted(config: RunConfig, can: ModelOffers) -> bool:
    """Whether a model is to be cached: `--no-cache`, else what the model's options say, else `--cache`, else the
    project."""
    if config.cache is False or can.cache is not None:
        return config.cache is not False and bool(can.cache)
    return bool(config.cache) or config.cache_by_default


def is_uncertain(config: RunConfig, can: ModelOffers) -> bool:
    """Whether answers are to be cached of a model that may change under its name: it has to prove which it is."""
    return is_wanted(config, can) and not can.cacheable and not can.cache


def refusal_of(cached: Cached, config: RunConfig) -> str:
    """Why a model is not cached although the project says so; with `--cache` that is a `UsageError`."""
    address = cached.settings.get("base_url")
    model = f"{cached.name} at {address}" if address else cached.name
    reason = f"{model} may change under the same name, and does not say which weights it serves"
    if config.cache:
        raise UsageError(
            f"--cache: {reason}, so cached answers could be another model's. Leave out --cache, or declare that this "
            "model does not change: --model-arg cache=true, or `cache: true` among the options of a model file; in "
            "Python of your own `offers = ModelOffers(cache=True)` in the model's class"
        )
    return f"answers are not cached: {reason}"


def _as_known(request: Request) -> Request | None:
    """What an answer is known by: a sampled one by its draw, and by nothing where that is not known.

    One that is not sampled is the same for all samples. Repetitions are kept apart, because a user who repeats such
    requests wants to see whether their answers differ.
    """
    if is_sampled(request):
        return None if request.draw is None else request
    repetition = 1 if request.draw is None else request.draw.repetition
    return msgspec.structs.replace(request, draw=Draw(repetition=repetition))
