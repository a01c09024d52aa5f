"""A server that answers every request with bytes of the test's own, right or wrong."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

Answer = Callable[[int], bytes]
"""The bytes for the first, second, … request."""


@contextlib.asynccontextmanager
async def raw_server(answer: Answer | bytes, open_ones: list[asyncio.StreamWriter] | None = None) -> AsyncIterator[str]:
    """Its address, for as long as the block lasts; `open_ones` is given the connections in the order of opening."""
    say = answer if callable(answer) else lambda number: answer
    asked = 0
    open_ones = [] if open_ones is None else open_ones

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        open_ones.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                asked += 1
                writer.write(say(asked))
                await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        for writer in open_ones:
            writer.transport.abort()
        await asyncio.sleep(0)


def http(body: Any, *headers: str, status: str = "200 OK", content_type: str = "application/json") -> bytes:
    """One whole HTTP answer; a body that is not bytes is written as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", f"Content-Length: {len(data)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + data
