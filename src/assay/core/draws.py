"""Draws: which of the answers that a model could give is meant, so that no answer stands for two.

A sampled request has many possible answers. A draw is numbered by its sample, its repetition, and how many equal
requests of the same attempt went to the same model before it. An attempt that is repeated counts from one again, so
its requests are the same draws as before.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextvars import ContextVar, Token

import msgspec

from assay.core.fingerprint import canonical_json
from assay.core.types import Draw, Request, Sample


class Draws:
    """Numbers all requests made inside `with Draws(…):`, also those of judges, deep inside scorers."""

    __slots__ = ("_first", "_outer", "_repetition", "_sent", "_task", "sample")

    def __init__(self, task: str, sample: Sample, repetition: int) -> None:
        self._task, self.sample, self._repetition = task, sample, repetition
        self._first: tuple[Hashable, Request] | None = None
        self._sent: dict[Hashable, int] | None = None

    def __enter__(self) -> None:
        self._outer: Token[Draws | None] = _current.set(self)

    def __exit__(self, *error: object) -> None:
        _current.reset(self._outer)

    def next(self, model: Hashable, request: Request) -> Draw:
        n = 1
        if self._first is None:  # most attempts make one request, which is compared with no other
            self._first = model, request
        else:
            if self._sent is None:
                self._sent = {_key(*self._first): 1}
            key = _key(model, request)
            # an answer that could not be used is replaced: the same draw once more
            n = self._sent[key] = max(self._sent.get(key, 0) + (not request.fresh), 1)
        return Draw(task=self._task, sample=self.sample.id, repetition=self._repetition, n=n)


_current: ContextVar[Draws | None] = ContextVar("draws", default=None)


def numbered(model: Hashable, request: Request) -> Request:
    """The request to a model with its draw; outside an attempt there is none."""
    draws = _current.get()
    return request if draws is None else msgspec.structs.replace(request, draw=draws.next(model, request))


def current_sample() -> Sample | None:
    """The sample of the attempt that this is part of; outside an attempt there is none."""
    return None if (draws := _current.get()) is None else draws.sample


def is_sampled(request: Request) -> bool:
    """Whether a second request may get another answer. A seed is no promise: many servers ignore it."""
    if request.continuation is not None or request.embed:
        return False
    return (request.extra or {}).get("temperature", request.temperature) != 0


def _key(model: Hashable, request: Request) -> Hashable:
    request = msgspec.structs.replace(request, fresh=False, draw=None)
    try:
        hash(request)
    except TypeError:  # it has content parts, tools or a schema
        return model, canonical_json(request)
    return model, request
