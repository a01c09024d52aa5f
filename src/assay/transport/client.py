"""The HTTP client: HTTP/1.1 on asyncio, spoken here and nowhere else, for models and evaluators alike.

It POSTs or GETs bytes and hands back status, headers and body, or GETs a file, and it names what went wrong on the
way. What a status means is the caller's business. Messages name the host, never a header, so no key can be in them.
Deadlines are kept by one timer over all requests in flight; a request that is cancelled or given up closes its
connection at once.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import defaultdict
from collections.abc import Mapping

from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.text import os_errors
from assay.transport.connection import (
    MAX_HEADER_BYTES,
    BrokenError,
    Connection,
    HeaderTooLargeError,
    HttpAnswer,
    KeepBytes,
    NotHttpError,
)
from assay.transport.content_coding import (
    MAX_RATIO,
    BodyTooLargeError,
    CannotUnpackError,
    PackedTooWellError,
    UnaskedEncodingError,
)
from assay.transport.route import Hop, ProxyError, Route, route_to, shown_host
from assay.transport.tunnel import open_tunnel

MAX_BODY_BYTES = 64 * 1024 * 1024
"""More than any honest answer; a server that sends more is stopped before it fills the memory."""
SWEEP_SECONDS = 0.1
CLOSING_TURNS = 10
"""Of the loop: TLS within TLS is closed in several."""
HAPPY_EYEBALLS_SECONDS = 0.25
"""How long one address of a host is tried alone (RFC 8305, section 5)."""
MAX_ROUTES = 1000
"""Prepared pairs of address and headers; there are a handful, unless headers change with each request."""


class HttpClient:
    """Keeps connections alive and follows no redirects. How many requests run at once is the caller's to limit."""

    def __init__(self, *, part: str = "", max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._part = part
        self._max_body_bytes = max_body_bytes
        self._routes: dict[tuple[str, str, tuple[tuple[str, str], ...]], Route] = {}
        self._idle: dict[tuple[Hop, ...], list[Connection]] = defaultdict(list)
        self._open: set[Connection] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sweeping: asyncio.TimerHandle | None = None
        self._tls: ssl.SSLContext | None = None

    async def post_json(
        self, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None = None
    ) -> HttpAnswer:
        """POST a body that is JSON already. Any status is an answer; anything less is a `FailureError`."""
        route = self._route("POST", url, headers)
        return await self._ask(url, route, route.request(body), timeout_seconds)

    async def connect(self, url: str, timeout_seconds: float | None = None) -> None:
        """Connect and ask nothing: a `FailureError` says why the server cannot be reached."""
        route = self._route("POST", url, {})
        try:
            connection = await self._connect(route, timeout_seconds)
        except (TimeoutError, BrokenError, ProxyError, OSError) as error:
            raise self._failure(error, url, timeout_seconds, reached=False) from error
        connection.abort()

    async def get(self, url: str, headers: Mapping[str, str], timeout_seconds: float | None = None) -> HttpAnswer:
        """GET something small. Any status is an answer; anything less is a `FailureError`."""
        route = self._route("GET", url, headers)
        return await self._ask(url, route, route.request_without_body(), timeout_seconds)

    async def get_file(self, url: str, keep: KeepBytes, *, timeout_seconds: float, stall_seconds: float) -> HttpAnswer:
        """GET a file without content coding: the body of a 200 goes to `keep` piece by piece, so it need not fit into
        memory. Any status is an answer, a redirect too.
        """
        route = self._route("GET", url, {"Accept-Encoding": "identity"})
        request = route.request_without_body()
        answer = await self._ask(url, route, request, timeout_seconds, keep=keep, stall_seconds=stall_seconds)
        if answer.status == 200 and answer.headers.get("content-encoding", "identity") != "identity":
            message = f"{shown_host(url)} sent the file in an encoding that was not requested"
            raise self._failed("bad_output", message, retryable=False)
        return answer

    async def _ask(
        self,
        url: str,
        route: Route,
        request: bytes,
        timeout_seconds: float | None,
        *,
        keep: KeepBytes | None = None,
        stall_seconds: float | None = None,
    ) -> HttpAnswer:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._forget()  # connections belong to the loop they were opened in
            self._loop = loop
        deadline = None if timeout_seconds is None else loop.time() + timeout_seconds
        patience = timeout_seconds if stall_seconds is None else stall_seconds
        connection = None
        try:
            connection = self._take(route) or await self._connect(route, patience)
            if self._sweeping is None:
                self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep)
            limit = self._max_body_bytes
            return await connection.ask(request, deadline, limit, keep=keep, stall_seconds=stall_seconds)
        except (BodyTooLargeError, TimeoutError, BrokenError, CannotUnpackError, ProxyError, OSError) as error:
            raise self._failure(error, url, patience, reached=connection is not None) from error

    async def aclose(self) -> None:
        """Close every connection. The client may be used again; it then opens new ones."""
        if self._loop is asyncio.get_running_loop():
            for connection in list(self._open):
                connection.abort()
            for _ in range(CLOSING_TURNS):
                await asyncio.sleep(0)  # lets the loop close the sockets, layer by layer
                if not self._open:
                    break
        self._forget()

    def _forget(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._sweeping = self._loop = None
        self._idle.clear()
        self._open.clear()

    def _route(self, method: str, url: str, headers: Mapping[str, str]) -> Route:
        key = (method, url, tuple(headers.items()))
        route = self._routes.get(key)
        if route is None:
            try:
                route = route_to(url, headers, method)
            except (ValueError, ProxyError) as error:
                kind = "connection" if isinstance(error, ProxyError) else "bad_request"
                raise self._failed(kind, str(error), retryable=False) from error
            if len(self._routes) >= MAX_ROUTES:
                self._routes.clear()
            self._routes[key] = route
        return route

    def _take(self, route: Route) -> Connection | None:
        idle = self._idle[route.hops]
        while idle:
            connection = idle.pop()
            if connection.quiet:
                return connection
            connection.abort()
        return None

    async def _connect(self, route: Route, timeout_seconds: float | None) -> Connection:
        loop = asyncio.get_running_loop()
        connection = Connection(self._idle[route.hops], self._open)
        first, tunnel = route.hops[0], route.hops[1:]
        async with asyncio.timeout(timeout_seconds):
            transport, _ = await loop.create_connection(
                (lambda: connection) if not tunnel else asyncio.Protocol,
                first.host,
                first.port,
                ssl=self._tls_context() if first.tls else None,
                happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS,
            )
            if tunnel:
                tls = self._tls_context()
                inner = await open_tunnel(transport, tunnel[0], route.proxy_headers, connection, tls)
                connection.connection_made(inner)
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            # made here rather than at import, so that SSL_CERT_FILE and SSL_CERT_DIR count whenever they were set
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls

    def _sweep(self) -> None:
        """One look at all requests in flight, instead of a timer for each."""
        self._sweeping = None
        if self._loop is None:
            return
        now = self._loop.time()
        asking = [connection for connection in self._open if connection.asking]
        for connection in asking:
            if connection.deadline is not None and connection.deadline <= now:
                connection.fail(TimeoutError())
        if asking:
            self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    # -- what went wrong -------------------------------------------------------------------------------------------

    def _failure(self, error: Exception, url: str, timeout_seconds: float | None, *, reached: bool) -> FailureError:
        place = shown_host(url)
        if isinstance(error, BodyTooLargeError):
            what = f"more than {self._max_body_bytes:,} bytes in one answer"
            if isinstance(error, HeaderTooLargeError):
                what = f"headers of more than {MAX_HEADER_BYTES:,} bytes"
            if isinstance(error, PackedTooWellError):
                what = f"an answer that unpacks to more than {MAX_RATIO} times its size, as no text does"
            message = f"{place} sent {what}"
            return self._failed("bad_output", message, retryable=False)
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = error.verify_message or type(error).__name__
            message = f"the certificate of {place} was not accepted: {reason}. SSL_CERT_FILE may name a file of CAs"
            return self._failed("connection", message, retryable=False)
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
            reason = (error.reason or type(error).__name__).replace("_", " ").lower()
            message = f"{place}: the TLS handshake failed ({reason}). Does this port speak https?"
            return self._failed("connection", message, retryable=False)
        if isinstance(error, TimeoutError) and error.errno is None:
            limit = "" if timeout_seconds is None else f" within {timeout_seconds:g} s"
            return self._failed("timeout", f"no full answer from {place}{limit}", retryable=True)
        if isinstance(error, ProxyError):
            message = f"the proxy in front of {place} {error}"
            return self._failed("connection", message, retryable=error.retryable)
        for_good = isinstance(error, NotHttpError | UnaskedEncodingError)
        unreachable = not reached and not for_good
        return self._failed(
            "connection", f"{place}: {_in_words(error)}", retryable=not for_good, unreachable=unreachable
        )

    def _failed(self, kind: str, message: str, *, retryable: bool, unreachable: bool = False) -> FailureError:
        failure = Failure(stage="model", part=self._part, kind=kind, message=message, retryable=retryable)
        return FailureError(failure, away="unreachable" if unreachable else None)


def _in_words(error: Exception) -> str:
    if isinstance(error, BrokenError | CannotUnpackError):
        return str(error)
    if isinstance(error, socket.gaierror):
        return "the host name could not be resolved"
    reason = os_errors.reason(error) if isinstance(error, OSError) and error.strerror else type(error).__name__
    return f"cannot connect ({reason})"
