"""Answers from the cache, instead of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from assay.core.draws import is_sampled
from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Draw, Request
from assay.overriding import override

if TYPE_CHECKING:
    from assay.models.completion_cache import CompletionCache


class Cached(Wrapper):
    """Answers a request from the cache if it asks for the same draw. Failures are not cached."""

    def __init__(self, model: Model, cache: CompletionCache, identity: Any) -> None:
        super().__init__(model)
        self._cache = cache
        self._identity = identity

    @override
    async def generate(self, request: Request) -> Completion:
        plain = msgspec.structs.replace(request, fresh=False) if request.fresh else request
        known = _as_known(plain)
        if known is None:
            return await self.model.generate(plain)
        key = self._cache.key(self._identity, known)
        if not request.fresh and (completion := self._cache.get(key)) is not None:
            return msgspec.structs.replace(completion, cached=True)
        completion = await self.model.generate(plain)
        self._cache.put(key, completion)
        return completion


def _as_known(request: Request) -> Request | None:
    """What an answer is known by: a sampled one by its draw, and by nothing where that is not known.

    One that is not sampled is the same for all samples. Repetitions are kept apart, because a user who repeats such
    requests wants to see whether their answers differ.
    """
    if is_sampled(request):
        return None if request.draw is None else request
    repetition = 1 if request.draw is None else request.draw.repetition
    return msgspec.structs.replace(request, draw=Draw(repetition=repetition))
