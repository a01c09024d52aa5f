"""TLS through a proxy: CONNECT, then the handshake with the server behind it (RFC 9110, section 9.3.6)."""

from __future__ import annotations

import asyncio
import re
import ssl

from assay.overriding import override
from assay.transport.connection import MAX_HEADER_BYTES, BrokenError
from assay.transport.route import Hop, ProxyError

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: [^\r\n]*)?\r\n")


async def open_tunnel(
    transport: asyncio.Transport, end: Hop, headers: bytes, protocol: asyncio.Protocol, tls: ssl.SSLContext
) -> asyncio.Transport:
    """A transport to the far end, spoken to by the protocol; whatever fails, the connection to the proxy is closed."""
    try:
        await _connect(transport, end, headers)
        inner = await asyncio.get_running_loop().start_tls(transport, protocol, tls, server_hostname=end.host)
    except BaseException:
        transport.abort()
        raise
    if not isinstance(inner, asyncio.Transport):
        raise BrokenError("the connection ended during the handshake")
    return inner


async def _connect(transport: asyncio.Transport, end: Hop, headers: bytes) -> None:
    answer = _Answer()
    transport.set_protocol(answer)
    name = f"[{end.host}]" if ":" in end.host else end.host
    authority = f"{name}:{end.port}".encode("idna" if not name.isascii() else "ascii")
    transport.write(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (authority, authority, headers))
    head = await answer.head
    status = _STATUS.match(head)
    if status is None:
        raise ProxyError("sent a response that is not HTTP", retryable=True)
    number = int(status[1])
    if not 200 <= number < 300:
        raise ProxyError(f"answered {number}", retryable=number >= 500)


class _Answer(asyncio.Protocol):
    """Waits for the head of the proxy's answer, after which the bytes are the server's."""

    def __init__(self) -> None:
        self.head: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._received = b""

    @override
    def data_received(self, data: bytes) -> None:
        self._received += data
        if self.head.done():
            return
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if end and rest and _STATUS.match(head + end) and head.split()[1:2][0][:1] == b"2":
            self.head.set_exception(ProxyError("sent more data after its answer, before the server was contacted"))
        elif end:
            self.head.set_result(head + end)
        elif len(self._received) > MAX_HEADER_BYTES:
            self.head.set_exception(ProxyError("sent an endless header"))

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        if not self.head.done():
            self.head.set_exception(ProxyError("closed the connection without an answer", retryable=True))
