"""Classifies exceptions of third-party clients: by the server's status, or because it could not be reached.

For models that send their requests with another library: requests, httpx, aiohttp, urllib, a vendor's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

Away = Literal["unreachable", "refusing", "closed"]

NOT_NOW = {429, 502, 503, 504, 529}
"""Too many requests, and what gateways and busy servers answer to every request."""
_LONGEST_CHAIN = 8


class Trouble(NamedTuple):
    """What kind of failure an exception is, whether a retry may help, and whether the server is unavailable."""

    kind: str
    retryable: bool
    away: Away | None = None
    retry_after_seconds: float | None = None


def trouble_of(error: Exception) -> Trouble:
    """The trouble that an exception means; kind `exception` where it has nothing to do with a server."""
    status = status_of(error)
    if status is not None:
        from assay.models.adapters.http_model import kind_of, retry_after_seconds

        kind, retryable = kind_of(status, set())
        wait = retry_after_seconds(_headers_of(error)) if retryable else None
        return Trouble(kind, retryable, away(status, kind, retryable=retryable), wait)
    chain = list(chain_of(error))
    if any(isinstance(cause, ConnectionError) for cause in chain):
        return Trouble("connection", True, "unreachable")
    if any(isinstance(cause, TimeoutError) for cause in chain):
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
            status = getattr(holder, name, None)
            if type(status) is int and 100 <= status < 600:
                return status
    return None


def _headers_of(error: Exception) -> Mapping[str, str]:
    from email.message import Message  # used by urllib; nothing else needs the package

    for holder in (error, getattr(error, "response", None)):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping | Message):
            lowercase = [(name.lower(), str(value)) for name, value in headers.items()]
            return {spelling: value for name, value in lowercase for spelling in (name, name.title())}
    return {}


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes: libraries wrap the socket's exception in their own."""
    cause: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__
