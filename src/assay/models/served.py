"""Asking a model what it serves, in bounded time: a server that does not say never holds up or fails a run."""

from __future__ import annotations

import asyncio

from assay.core.errors import FailureError, UsageError
from assay.core.model_stack import innermost
from assay.core.seams import Identified, Model, Served, offers_of

PROBE_SECONDS = 5.0
"""The time limit for all requests to a server about what it serves; files are hashed for as long as it takes."""


class NotReachedError(Exception):
    """The server could not be reached: it is down, or did not answer in time."""


async def served_by(model: Model, *, seconds: float = PROBE_SECONDS) -> Served | None:
    """What the model says that it serves; None where it does not say, or not in time."""
    try:
        return await probe(model, seconds=seconds)
    except NotReachedError:
        return None


async def probe(model: Model, *, seconds: float = PROBE_SECONDS) -> Served | None:
    """The same; `NotReachedError` where the server may say it later."""
    source = innermost(model)
    if not isinstance(source, Identified):
        return None
    try:
        async with asyncio.timeout(seconds if offers_of(source).remote else None):
            served = await source.served()
    except (FailureError, TimeoutError, OSError) as error:
        raise NotReachedError from error
    if served is not None and not isinstance(served, Served):
        raise UsageError(f"{type(source).__name__}.served() must return an assay.Served(…) or None, got {served!r}")
    return served
