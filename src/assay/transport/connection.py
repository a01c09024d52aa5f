"""One connection to a server: what is sent, and what llhttp makes of what comes back, within bounds."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Mapping
from typing import NamedTuple

import httptools

from assay.overriding import override
from assay.text import os_errors
from assay.transport.content_coding import BodyTooLargeError, CannotUnpackError, unpacked

MAX_HEADER_BYTES = 64 * 1024
KeepBytes = Callable[[bytes], object]
"""Takes a body piece by piece."""


class HttpAnswer(NamedTuple):
    """What a server sent back. Names of headers are in lower case; the values of a repeated one are joined."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class BrokenError(Exception):
    """What a server did to the connection, in words."""


class NotHttpError(BrokenError):
    """The server speaks another protocol, or HTTP with a contradiction, and will do so the next time."""


class HeaderTooLargeError(BodyTooLargeError):
    """More than any honest header."""


class Connection(asyncio.Protocol):
    """One connection: one request at a time, kept for the next one when the answer allows it."""

    _head_bytes: int
    _status: int
    _in_body: bool
    """The answer's own headers are over."""
    _whole: bool
    """The answer has come to its end."""
    _surplus: bool
    """More data followed it, without a request."""
    _keep: bool
    _some: bool
    _until_close: bool

    def __init__(self, idle: list[Connection], open_ones: set[Connection]) -> None:
        self._idle = idle
        self._open = open_ones
        self._transport: asyncio.Transport | None = None
        self._poll: select.poll | None = None
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self.deadline: float | None = None
        self._body_goes_to: KeepBytes | None = None
        self._last_moment: float | None = None
        self._stall_seconds: float | None = None
        self._begin_answer()

    @property
    def quiet(self) -> bool:
        """Whether it can be used again: it is open, and neither unexpected data nor its end has arrived.

        What has arrived at the socket, the loop may not have read yet.
        """
        return self._usable and (self._poll is None or not self._poll.poll(0))

    @property
    def _usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def asking(self) -> bool:
        return self._answer is not None

    async def ask(
        self,
        request: bytes,
        deadline: float | None,
        max_body_bytes: int,
        *,
        keep: KeepBytes | None = None,
        stall_seconds: float | None = None,
    ) -> HttpAnswer:
        """The answer to one request. `keep` is given the body of a 200 piece by piece, and the answer then has none;
        `stall_seconds` is how long nothing may come.
        """
        if self._transport is None or self._transport.is_closing():
            raise BrokenError("the server closed the connection without an answer")
        answer: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self.deadline, self._max_body_bytes = deadline, max_body_bytes
        self._body_goes_to, self._last_moment, self._stall_seconds = keep, deadline, stall_seconds
        self._put_off_deadline()
        self._transport.write(request)
        try:
            return await answer
        except BaseException:
            # a finished connection may serve another request by now
            if self._answer is answer:
                self._answer = None
                self.abort()  # the rest of the answer belongs to an abandoned request
            raise

    def _put_off_deadline(self) -> None:
        """Whoever set a limit to silence waits as long as something comes, until the last moment."""
        if self._stall_seconds is not None:
            silent_until = asyncio.get_running_loop().time() + self._stall_seconds
            self.deadline = silent_until if self._last_moment is None else min(silent_until, self._last_moment)

    def fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # -- called by asyncio ---------------------------------------------------------------------------------------

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - create_connection makes no other
        self._transport = transport
        self._poll = _polled(transport)
        self._open.add(self)

    @override
    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.abort()  # there was no request
            return
        if self._head_bytes > MAX_HEADER_BYTES and not self._in_body:
            self.fail(HeaderTooLargeError())  # the parser itself would collect an endless header
            return
        self._some = True
        self._put_off_deadline()
        self._head_bytes += 0 if self._in_body else len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._surplus = True
            if not self._whole:
                self.fail(NotHttpError("the response is not HTTP"))
        if self._whole:
            self._end_answer()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self._transport = self._poll = None
        if exc is None and self._until_close:
            self._status = self._parser.get_status_code()
            self._finish()
        elif self._some:
            self.fail(BrokenError("the connection ended in the middle of the answer"))
        elif exc is not None:
            reason = os_errors.reason(exc) if isinstance(exc, OSError) else type(exc).__name__
            self.fail(BrokenError(f"the connection broke ({reason})"))
        else:
            self.fail(BrokenError("the server closed the connection without an answer"))

    # -- called by the parser ------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._surplus = self._whole  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._surplus:
            return
        self._size += len(name) + len(value)
        if self._size > (self._max_body_bytes if self._in_body else MAX_HEADER_BYTES):
            self.fail(BodyTooLargeError() if self._in_body else HeaderTooLargeError())
            return
        if self._in_body:
            return  # a trailer: what it says of the body comes too late to count (RFC 9110, 6.5.1)
        key, text = name.decode("latin-1").lower(), value.rstrip().decode("latin-1")
        self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        if self._surplus:
            return
        self._size = 0
        self._in_body = self._parser.get_status_code() >= 200
        self._until_close = "content-length" not in self._headers and "transfer-encoding" not in self._headers
        length = self._headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._max_body_bytes:
            self.fail(BodyTooLargeError())

    def on_body(self, body: bytes) -> None:
        if self._surplus:
            return
        self._size += len(body)
        if self._size > self._max_body_bytes:
            self.fail(BodyTooLargeError())
        elif self._body_goes_to is not None and self._parser.get_status_code() == 200:
            try:
                self._body_goes_to(body)
            except OSError as error:
                self.fail(BrokenError(f"what it sent could not be written ({os_errors.reason(error)})"))
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
        if self._keep and self._usable and not self._surplus and self._all_sent():
            self._begin_answer()
            self._idle.append(self)
        else:
            self.abort()

    def _all_sent(self) -> bool:
        # an answer that comes early says nothing of the rest of the request
        return self._transport is not None and not self._transport.get_write_buffer_size()

    def _begin_answer(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._head_bytes = self._status = 0
        self._in_body = self._whole = self._surplus = self._keep = False
        self._forget_parts()

    def _forget_parts(self) -> None:
        self._headers: dict[str, str] = {}
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
            if "content-encoding" in self._headers and (self._body_goes_to is None or self._chunks):
                body = unpacked(body, self._headers["content-encoding"], self._max_body_bytes)
        except (BodyTooLargeError, CannotUnpackError) as error:
            answer.set_exception(error)
        else:
            answer.set_result(HttpAnswer(self._status, self._headers, body))


def _polled(transport: asyncio.BaseTransport) -> select.poll | None:
    connected = transport.get_extra_info("socket")
    if connected is None or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(connected.fileno(), select.POLLIN)
    return poll
