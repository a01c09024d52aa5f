"""The lean HTTP client: HTTP/1.1 on asyncio and httptools, at a fraction of aiohttp's cost per request (extra `lean`).

Same interface, same failures, same conformance suite as `http_client.py`; an option (`--http lean`) until it has earned
being the default. What it does not do itself, proxies, it leaves to the client it is derived from. Deadlines are kept
by one timer over all requests in flight, and a request that is cancelled or given up closes its connection at once.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from multidict import CIMultiDict

from assay.core.errors import FailureError, UsageError
from assay.models.content_coding import CannotUnpackError, TooLargeError, unpacked
from assay.models.http_client import HttpAnswer, HttpClient, has_arrived, place_of, polled, reason_of

try:
    import httptools
except ImportError as missing:
    raise UsageError("--http lean needs httptools: pip install 'assay-eval[lean]'") from missing

SWEEP_SECONDS = 0.1
MAX_HEADER_BYTES = 64 * 1024


class _Target(NamedTuple):
    """Where a URL leads, taken apart once."""

    host: str
    port: int
    tls: bool
    begin: bytes
    """The first lines of every request."""


class LeanHttpClient(HttpClient):
    """Keeps connections alive and follows no redirects. How many requests run at once is the caller's to limit."""

    def __init__(self, *, part: str = "", max_body_bytes: int | None = None) -> None:
        super().__init__(part=part, **({} if max_body_bytes is None else {"max_body_bytes": max_body_bytes}))
        self._targets: dict[str, _Target] = {}
        self._idle: dict[tuple[str, int, bool], list[_Connection]] = defaultdict(list)
        self._open: set[_Connection] = set()
        self._home: asyncio.AbstractEventLoop | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    async def post_json(
        self, url: str, body: bytes, headers: Mapping[str, str], timeout_seconds: float | None = None
    ) -> HttpAnswer:
        """POST a body that is JSON already. Any status is an answer; anything less is a `FailureError`."""
        if self._proxy(url) is not None:
            return await super().post_json(url, body, headers, timeout_seconds)
        loop = self._loop_of_now()
        target = self._target(url)
        request = self._request(target, headers, body, url)
        deadline = None if timeout_seconds is None else loop.time() + timeout_seconds
        connection = None
        try:
            connection = self._take(target) or await self._connect(target, timeout_seconds)
            self._sweep_soon(loop)
            return await connection.ask(request, deadline, self._max_body_bytes)
        except TooLargeError as error:
            message = f"{place_of(url)} sent more than {self._max_body_bytes:,} bytes in one answer"
            raise self._failed("bad_output", message, retryable=False) from error
        except ssl.SSLCertVerificationError as error:
            raise self._failed("connection", self._refused(url, error), retryable=False) from error
        except TimeoutError as error:
            limit = "" if timeout_seconds is None else f" within {timeout_seconds:g} s"
            message = f"no full answer from {place_of(url)}{limit}"
            raise self._failed("timeout", message, retryable=True) from error
        except (_BrokenError, CannotUnpackError, OSError) as error:
            message = f"{place_of(url)}: {_why(error)}"
            raise self._failed("connection", message, retryable=True, unreachable=connection is None) from error

    async def aclose(self) -> None:
        """Close every connection. The client may be used again; it then opens new ones."""
        await super().aclose()
        if self._home is asyncio.get_running_loop():
            for connection in list(self._open):
                connection.abort()
            await asyncio.sleep(0)  # lets the loop close the sockets
        self._forget()

    def _loop_of_now(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if self._home is not loop:
            self._forget()  # connections belong to the loop they were opened in
            self._home = loop
        return loop

    def _forget(self) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._sweeping = self._home = None
        self._idle.clear()
        self._open.clear()

    def _target(self, url: str) -> _Target:
        target = self._targets.get(url)
        if target is None:
            target = self._targets[url] = self._parsed(url)
        return target

    def _parsed(self, url: str) -> _Target:
        try:
            parts = urlsplit(url)
            tls = parts.scheme == "https"
            host, port = parts.hostname, parts.port or (443 if tls else 80)
            name = parts.netloc.rpartition("@")[2].encode("idna" if not parts.netloc.isascii() else "ascii")
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            begin = b"POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: assay\r\n" % (path.encode("ascii"), name)
        except (ValueError, UnicodeError) as error:
            raise self._no_address(url) from error
        if not host or parts.scheme not in ("http", "https") or b"\n" in path.encode() or b" " in path.encode():
            raise self._no_address(url)
        return _Target(host, port, tls, begin)

    def _no_address(self, url: str) -> FailureError:
        return self._failed("bad_request", f"`{place_of(url)}` is not an address that can be called", retryable=False)

    def _request(self, target: _Target, headers: Mapping[str, str], body: bytes, url: str) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            raise self._failed("bad_request", f"{place_of(url)}: a header holds a line end", retryable=False)
        return b"%s%sContent-Length: %d\r\n\r\n%s" % (target.begin, lines.encode("latin-1", "replace"), len(body), body)

    def _take(self, target: _Target) -> _Connection | None:
        idle = self._idle[target[:3]]
        while idle:
            connection = idle.pop()
            if connection.usable and not has_arrived(connection.socket):
                return connection
            connection.abort()
        return None

    async def _connect(self, target: _Target, timeout_seconds: float | None) -> _Connection:
        loop = asyncio.get_running_loop()
        connection = _Connection(self._idle[target[:3]], self._open)
        tls = self._tls_context("https:") if target.tls else None
        name = target.host if target.tls else None
        async with asyncio.timeout(timeout_seconds):
            await loop.create_connection(lambda: connection, target.host, target.port, ssl=tls, server_hostname=name)
        return connection

    def _refused(self, url: str, error: ssl.SSLCertVerificationError) -> str:
        reason = error.verify_message or type(error).__name__
        return f"the certificate of {place_of(url)} was not accepted: {reason}. SSL_CERT_FILE may name a file of CAs"

    def _sweep_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeping is None:
            self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """One look at all requests in flight, instead of a timer for each."""
        now = loop.time()
        self._sweeping = None
        asking = [connection for connection in self._open if connection.asking]
        for connection in asking:
            if connection.deadline is not None and connection.deadline <= now:
                connection.fail(TimeoutError())
        if asking:
            self._sweep_soon(loop)


class _BrokenError(Exception):
    """What a server did to the connection, in words."""


class _Connection(asyncio.Protocol):
    """One connection: one request at a time, kept for the next one when the answer allows it."""

    _head_bytes: int
    _status: int
    _in_body: bool
    """The answer's own headers are over."""
    _whole: bool
    """The answer has come to its end."""
    _surplus: bool
    """Something followed it that nobody asked for."""
    _keep: bool
    _some: bool
    _until_close: bool

    def __init__(self, idle: list[_Connection], open_ones: set[_Connection]) -> None:
        self._idle = idle
        self._open = open_ones
        self._transport: asyncio.Transport | None = None
        self.socket: select.poll | None = None
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self.deadline: float | None = None
        self._begin_answer()

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def asking(self) -> bool:
        return self._answer is not None

    async def ask(self, request: bytes, deadline: float | None, max_body_bytes: int) -> HttpAnswer:
        if self._transport is None or self._transport.is_closing():
            raise _BrokenError("the server closed the connection without an answer")
        answer: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self.deadline, self._max_body_bytes = deadline, max_body_bytes
        self._transport.write(request)
        try:
            return await answer
        except BaseException:
            # a finished connection may be somebody else's by the time we are told
            if self._answer is answer:
                self._answer = None
                self.abort()  # whatever is still to come belongs to a request that nobody waits for
            raise

    def fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- what asyncio tells ----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - create_connection makes no other
        self._transport = transport
        self.socket = polled(transport)
        self._open.add(self)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()  # nobody asked
            return
        if self._head_bytes > MAX_HEADER_BYTES and not self._in_body:
            self.fail(TooLargeError())  # the parser itself would gather a header for ever
            return
        self._some = True
        self._head_bytes += 0 if self._in_body else len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._surplus = True
            if not self._whole:
                self.fail(_BrokenError("what came back is not an HTTP answer"))
        if self._whole:
            self._end_answer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self._transport = self.socket = None
        if exc is None and self._until_close:
            self._status = self._parser.get_status_code()
            self._finish()
        elif self._some:
            self.fail(_BrokenError("the connection ended in the middle of the answer"))
        elif exc is not None:
            self.fail(_BrokenError(f"the connection broke ({reason_of(exc)})"))
        else:
            self.fail(_BrokenError("the server closed the connection without an answer"))

    # -- what the parser tells -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._surplus = self._whole  # nobody asked for a second answer

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._surplus:
            return
        self._size += len(name) + len(value)
        if self._size > (self._max_body_bytes if self._in_body else MAX_HEADER_BYTES):
            raise TooLargeError
        if self._in_body:
            return  # a trailer: what it says of the body comes too late to count (RFC 9110, 6.5.1)
        self._headers.add(name.decode("latin-1"), value.rstrip().decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self._surplus:
            return
        self._size = 0
        self._in_body = self._parser.get_status_code() >= 200
        self._until_close = "Content-Length" not in self._headers and "Transfer-Encoding" not in self._headers
        length = self._headers.get("Content-Length", "0")
        if length.isdigit() and int(length) > self._max_body_bytes:
            self.fail(TooLargeError())

    def on_body(self, body: bytes) -> None:
        if self._surplus:
            return
        self._size += len(body)
        if self._size > self._max_body_bytes:
            self.fail(TooLargeError())
        else:
            self._chunks.append(body)

    def on_message_complete(self) -> None:
        if self._surplus:
            return
        self._status = self._parser.get_status_code()
        if 100 <= self._status < 200:
            self._forget_parts()  # "go on": the answer itself is still to come, and the same parser reads it
            return
        self._whole = True
        self._keep = self._parser.should_keep_alive() and not self._until_close

    def _end_answer(self) -> None:
        self._finish()
        if self._keep and self.usable and not self._surplus:
            self._begin_answer()
            self._idle.append(self)
        else:
            self.abort()

    def _begin_answer(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._head_bytes = self._status = 0
        self._in_body = self._whole = self._surplus = self._keep = False
        self._forget_parts()

    def _forget_parts(self) -> None:
        self._headers: CIMultiDict[str] = CIMultiDict()
        self._chunks: list[bytes] = []
        self._size = 0
        self._some = self._until_close = False

    def _finish(self) -> None:
        """Hand the answer over, and be free for the next request before anybody else has a turn."""
        answer, self._answer = self._answer, None
        if answer is None or answer.done():
            return
        body = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        try:
            if "Content-Encoding" in self._headers:
                body = unpacked(body, self._headers.getall("Content-Encoding"), self._max_body_bytes)
        except (TooLargeError, CannotUnpackError) as error:
            answer.set_exception(error)
        else:
            answer.set_result(HttpAnswer(self._status, self._headers, body))


def _why(error: Exception) -> str:
    if isinstance(error, _BrokenError | CannotUnpackError):
        return str(error)
    if isinstance(error, socket.gaierror):
        return "the host name could not be resolved"
    return f"cannot connect ({reason_of(error)})"
