"""A running program that is spoken to in lines, and one way to be rid of it.

It runs in a process group of its own, which is killed as a whole; a program that leaves its group is not followed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import cast

_STDERR_TAIL_BYTES = 2000
GRACE_SECONDS = 1.0
"""How long a program may take to end once it was asked to, and its pipes to close once it has ended."""


class ChildProcess(asyncio.SubprocessProtocol):
    """A running program: lines as they come, the end of its standard error, and one way to be rid of it."""

    def __init__(self, on_line: OnLine, max_bytes: int, max_bytes_are_per_line: bool) -> None:
        self._on_line = on_line
        self._max_bytes = max_bytes
        self._per_line = max_bytes_are_per_line
        self._partial = bytearray()
        self._size = 0
        self._stderr = bytearray()
        self.overflow = False
        self.status: int | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # other loops' transports have these methods without being of this class
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._stderr += data
            del self._stderr[:-_STDERR_TAIL_BYTES]
        elif not self.overflow:
            self._stdout(data)

    def process_exited(self) -> None:
        self.status = self._transport.get_returncode()
        # what the program left running would hold its pipes open
        self.kill()
        asyncio.get_running_loop().call_later(GRACE_SECONDS, self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._partial and not self.overflow:
            self._on_line(self, bytes(self._partial))
            self._partial.clear()
        self._transport.close()
        self.closed.set_result(None)

    @property
    def has_ended(self) -> bool:
        return self.status is not None or self.overflow or self.closed.done()

    def write(self, data: bytes) -> None:
        pipe = cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)

    def end_input(self) -> None:
        pipe = self._transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()

    def kill(self) -> None:
        try:
            os.killpg(self._pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # nobody of the group is left

    async def end(self, grace_seconds: float = 0.0) -> None:
        """Nothing of it is left when this returns, nor when it is cancelled."""
        if self.closed.done():
            return
        try:
            if grace_seconds:
                await asyncio.wait([self.closed], timeout=grace_seconds)
        finally:
            self.kill()
            self._transport.close()
        await asyncio.wait([self.closed], timeout=GRACE_SECONDS)

    def last_words(self) -> str:
        """The end of what it wrote to standard error, as a clause; empty when it wrote nothing."""
        tail = self._stderr.decode("utf-8", "replace").strip()[-600:]
        return f"; the end of its standard error: {tail}" if tail else ""

    def _stdout(self, data: bytes) -> None:
        self._partial += data
        self._size += len(data)
        if b"\n" in data:
            *lines, rest = bytes(self._partial).split(b"\n")
            self._partial = bytearray(rest)
            for line in lines:
                if line.strip():
                    self._on_line(self, line)
        if (len(self._partial) if self._per_line else self._size) > self._max_bytes:
            self.overflow = True
            self._partial.clear()
            self.kill()


OnLine = Callable[[ChildProcess, bytes], None]


def how_it_ended(status: int) -> str:
    if status < 0:
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"ended with status {status}"
