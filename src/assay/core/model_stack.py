"""Wrappers of a Model, each a Model: `Limited(Timed(model))`. There are more in `models/layers`.

Each adds one behaviour and knows nothing of the others. `models/pool.py` nests them, and the order matters: an answer
from the cache takes no slot of the limit, a slot is not held while waiting to retry, and the time limit covers only
the model itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.attempt import INTERRUPTED, failure_of
from assay.core.describe import ModelOffers
from assay.core.draws import numbered
from assay.core.errors import AssayError, FailureError
from assay.core.seams import HasSettings, Model, close_part, offers_of
from assay.core.types import Completion, Failure, Request
from assay.core.usage import note
from assay.overriding import override


class Wrapper:
    """A model around a model; passes on everything it does not change."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.name = model.name

    async def generate(self, request: Request) -> Completion:
        return await self.model.generate(request)

    @property
    def offers(self) -> ModelOffers:
        return offers_of(self.model)

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.model.settings if isinstance(self.model, HasSettings) else {}

    async def aclose(self) -> None:
        await close_part(self.model)


def innermost(model: Model) -> Model:
    """The model inside all its wrappers."""
    while isinstance(model, Wrapper):
        model = model.model
    return model


def not_sent(name: str, message: str = "not sent: the run ended first") -> FailureError:
    """The error of a request without an answer when the run is stopped: it is sent when the run is resumed."""
    return FailureError(Failure(stage="model", part=name, kind=INTERRUPTED, message=message))


def given_settings(settings: Request) -> dict[str, Any]:
    """The generation settings that are set, by field: computed once, because every request is compared with them."""
    return {field: value for field, value in msgspec.structs.asdict(settings).items() if value is not None}


class WithRunSettings(Wrapper):
    """The model as one attempt sees it: the run's settings are defaults of each request, and usage is recorded."""

    def __init__(self, model: Model, settings: Mapping[str, Any]) -> None:
        super().__init__(model)
        self._settings = settings
        self.last: Request | None = None
        """The last request, for the record of an attempt that gets no answer."""

    @override
    async def generate(self, request: Request) -> Completion:
        self.last = request
        if missing := {name: value for name, value in self._settings.items() if getattr(request, name) is None}:
            request = msgspec.structs.replace(request, **missing)
        request = numbered(self, request)
        try:
            completion = await self.model.generate(request)
        except AssayError:
            raise
        except Exception as error:  # a bug in the model, not in the solver that called it
            raise FailureError(failure_of(error, "model", self.name)) from error
        note(self.name, request, completion, judge=False)
        return completion


class Limited(Wrapper):
    """At most this many requests at once."""

    def __init__(self, model: Model, concurrency: int) -> None:
        super().__init__(model)
        self.width, self.in_flight = concurrency, 0
        self._places = asyncio.Semaphore(concurrency)

    @override
    async def generate(self, request: Request) -> Completion:
        async with self._places:
            self.in_flight += 1
            try:
                return await self.model.generate(request)
            finally:
                self.in_flight -= 1


class Timed(Wrapper):
    """Gives up on a request after a time limit: a failure of kind `timeout`, never an empty answer."""

    def __init__(self, model: Model, timeout_seconds: float) -> None:
        super().__init__(model)
        self._timeout = timeout_seconds

    @override
    async def generate(self, request: Request) -> Completion:
        try:
            async with asyncio.timeout(self._timeout) as deadline:
                return await self.model.generate(request)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            message = f"no answer within {self._timeout:g} s"
            failure = Failure(stage="model", part=self.name, kind="timeout", message=message, retryable=False)
            raise FailureError(failure) from error
