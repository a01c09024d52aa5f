"""What an exception of a third-party client says about a server: its status, or that it could not be reached.

For models whose requests are made by a library that is not ours: requests, httpx, aiohttp, urllib, a vendor's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

Away = Literal["unreachable", "refusing", "closed"]

NOT_NOW = {429, 502, 503, 504, 529}
"""Too many requests, and what gateways and busy servers answer to every request."""
_LONGEST_CHAIN = 8


class Trouble(NamedTuple):
    """What kind of failure an exception is, whether asking again may help, and whether the server is away."""

    kind: str
    retryable: bool
    away: Away | None = None
    retry_after_seconds: float | None = None


def trouble_of(error: Exception) -> Trouble:
    """What the exception says; kind `exception` where it says nothing about a server."""
    status = status_of(error)
    if status is not None:
        from assay.models.adapters.http_model import kind_of, retry_after_seconds

        kind, retryable = kind_of(status, set())
        wait = retry_after_seconds(_headers_of(error)) if retryable else None
        return Trouble(kind, retryable, away(status, kind, retryable=retryable), wait)
    chain = list(_chain(error))
    if any(isinstance(each, ConnectionError) for each in chain):
        return Trouble("connection", True, "unreachable")
    if any(isinstance(each, TimeoutError) for each in chain):
        return Trouble("timeout", True)
    return Trouble("exception", False)


def away(status: int, kind: str, *, retryable: bool) -> Away | None:
    """Whether a status rejects every request: temporarily, or until the key, the name or the account is changed."""
    if retryable:
        return "refusing" if status in NOT_NOW else None
    return "closed" if status in (401, 403, 404) or kind == "rate_limit" else None


def status_of(error: Exception) -> int | None:
    """The status code that the exception carries, wherever its library puts it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            found = getattr(holder, name, None)
            if type(found) is int and 100 <= found < 600:
                return found
    return None


def _headers_of(error: Exception) -> Mapping[str, str]:
    from email.message import Message  # used by urllib; nothing else needs the package

    for holder in (error, getattr(error, "response", None)):
        found = getattr(holder, "headers", None)
        if isinstance(found, Mapping | Message):
            named = [(name.lower(), str(value)) for name, value in found.items()]
            return {spelling: value for name, value in named for spelling in (name, name.title())}
    return {}


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those it was raised from: libraries wrap the one of the socket in their own."""
    found: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__
