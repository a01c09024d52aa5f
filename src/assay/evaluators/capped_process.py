"""Runs a program of the user's with a deadline and capped output, and leaves nothing of it behind.

The program leads a process group of its own, which is killed as a whole: at the deadline, when the output runs over,
when the caller is cancelled, and also after the program has ended, so that no child of it lives on.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_DRAIN_SECONDS = 1.0
"""How long to wait for the end of output that a process outside the group still holds open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended and what it wrote."""

    exit_code: int
    """Negative: the signal that ended it."""
    stdout: bytes
    stderr: bytes
    """Its beginning only, when there was too much."""
    timed_out: bool
    stdout_too_long: bool


async def run_capped(
    command: Sequence[str],
    *,
    stdin: bytes,
    timeout_seconds: float,
    cwd: Path | None,
    env: Mapping[str, str],
    max_stdout_bytes: int,
    max_stderr_bytes: int,
) -> Finished:
    """Run an argument list without a shell. `OSError` when it cannot be started."""
    with tempfile.TemporaryFile() as given:
        # a file, not a pipe: a program that does not read its input cannot block us, whatever its size
        given.write(stdin)
        given.seek(0)
        stdout, stderr = _Pipe(max_stdout_bytes), _Pipe(max_stderr_bytes)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=given,
                stdout=stdout.write_end,
                stderr=stderr.write_end,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
            try:
                stdout.on_overflow = lambda: _kill_group(process.pid)
                await stdout.connect()
                await stderr.connect()
                timed_out = await _ends_too_late(process, timeout_seconds)
            finally:
                _kill_group(process.pid)
                await process.wait()  # also when cancelled: a killed process takes no time to end
            await stdout.drain()
            await stderr.drain()
        finally:
            stdout.close()
            stderr.close()
    return Finished(
        exit_code=process.returncode if process.returncode is not None else -signal.SIGKILL,
        stdout=bytes(stdout.kept),
        stderr=bytes(stderr.kept),
        timed_out=timed_out,
        stdout_too_long=stdout.overflowed,
    )


async def _ends_too_late(process: asyncio.subprocess.Process, timeout_seconds: float) -> bool:
    try:
        async with asyncio.timeout(timeout_seconds):
            await process.wait()
    except TimeoutError:
        return True
    return False


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left in it


class _Pipe(asyncio.Protocol):
    """The reading end of an output: keeps the first bytes, throws the rest away so that the writer never blocks."""

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()
        self.overflowed = False
        self.on_overflow: Callable[[], None] | None = None
        self._limit = limit
        self._read_end, self.write_end = os.pipe()
        self._write_end_open = True
        self._transport: asyncio.BaseTransport | None = None
        self._ended = asyncio.Event()

    async def connect(self) -> None:
        self._close_write_end()
        reading = os.fdopen(self._read_end, "rb", buffering=0)
        self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, reading)

    def data_received(self, data: bytes) -> None:
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        if len(data) > room and not self.overflowed:
            self.overflowed = True
            if self.on_overflow is not None:
                self.on_overflow()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()

    async def drain(self) -> None:
        try:
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._ended.wait()
        except TimeoutError:
            pass  # somebody outside the group keeps it open; what was written so far is all we take

    def close(self) -> None:
        self._close_write_end()
        if self._transport is not None:
            self._transport.close()
        else:
            os.close(self._read_end)

    def _close_write_end(self) -> None:
        if self._write_end_open:
            self._write_end_open = False
            os.close(self.write_end)
