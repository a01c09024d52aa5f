"""An evaluator with the same patience as models in a run: Retry-After, back-off, and outages that cost only time.

Judges and tasks have these layers around their models already; this is for services that score.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.run import Stop
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.evaluators.http_service import HttpEvaluator
from assay.evaluators.payload import Evaluation, Evaluator, EvaluatorError
from assay.models.adapters.client_errors import away
from assay.models.adapters.http_model import retry_after_seconds
from assay.models.pool import PATIENCE_SECONDS, wrap_alone


class PatientEvaluator:
    """Wraps an evaluator; a service that is down or answers "not now" is retried later."""

    def __init__(
        self,
        evaluator: Evaluator,
        stop: Stop,
        say: Callable[[str], None],
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.name = evaluator.name
        self.made = 0
        """How often the evaluator was called, including retries."""
        self._evaluator = evaluator
        self._waiting = None
        if isinstance(evaluator, HttpEvaluator):
            self._waiting = wrap_alone(
                _ServiceAsModel(self), concurrency=1 << 16, say=say, stop=stop, patience_seconds=patience_seconds
            )

    @property
    def identity(self) -> dict[str, Any]:
        return self._evaluator.identity

    def __call__(
        self, candidate: str, example: Mapping[str, Any] | None = None, task_model: str | None = None
    ) -> Coroutine[Any, Any, Evaluation]:
        if self._waiting is None:
            self.made += 1
            return self._evaluator(candidate, example, task_model)
        return self._patiently(self._waiting, _Asked(candidate=candidate, example=example, task_model=task_model))

    async def _patiently(self, service: Model, request: _Asked) -> Evaluation:
        try:
            answer = await service.generate(request)
        except FailureError as error:
            seen = error.__cause__  # the layers report how often they tried, without the side info
            side_info = seen.side_info if isinstance(seen, EvaluatorError) else {}
            raise EvaluatorError(error.failure, side_info) from error
        return cast(_Answered, answer).evaluation

    async def close(self) -> None:
        await self._evaluator.close()

    def ask(
        self, candidate: str, example: Mapping[str, Any] | None, task_model: str | None
    ) -> Coroutine[Any, Any, Evaluation]:
        self.made += 1
        return self._evaluator(candidate, example, task_model)


class _Asked(Request, frozen=True, kw_only=True):
    candidate: str
    example: Mapping[str, Any] | None
    task_model: str | None


class _Answered(Completion, frozen=True, kw_only=True):
    evaluation: Evaluation


class _ServiceAsModel:
    """What the layers around models ask."""

    offers = ModelOffers(remote=True, cacheable=False)

    def __init__(self, evaluator: PatientEvaluator) -> None:
        self.name = evaluator.name
        self._evaluator = evaluator
        self._recent: deque[tuple[int, bool]] = deque(maxlen=64)
        """The last requests, and whether each was answered."""

    async def generate(self, request: Request) -> Completion:
        payload = cast(_Asked, request)
        try:
            evaluation = await self._evaluator.ask(payload.candidate, payload.example, payload.task_model)
        except EvaluatorError as error:
            if error.failure.kind == "timeout" and self._is_slow_alone(id(request)):
                error.failure = msgspec.structs.replace(error.failure, retryable=False)
            self._recent.append((id(request), False))
            if error.status is not None:
                error.away = away(error.status, error.failure.kind, retryable=error.failure.retryable)
                error.retry_after_seconds = retry_after_seconds(error.headers)
            raise
        self._recent.append((id(request), True))
        return _Answered(text="", evaluation=evaluation)

    def _is_slow_alone(self, request: int) -> bool:
        """Whether a request that has timed out before does so again while others are answered: no outage, then."""
        has_failed = (request, False) in self._recent
        others = [answered for other, answered in self._recent if other != request]
        return has_failed and bool(others) and others[-1]
