"""Runs a program of the user's with a deadline and capped output, and leaves nothing of it behind."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.processes.child import Child


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a program ended and what it wrote."""

    exit_code: int
    """Negative: the signal that ended it."""
    stdout: bytes
    stderr: bytes
    """Its end only, when there was too much."""
    timed_out: bool
    stdout_too_long: bool


async def run_capped(
    command: Sequence[str],
    *,
    stdin: bytes,
    timeout_seconds: float | None,
    cwd: Path | None = None,
    env: Mapping[str, str],
    max_stdout_bytes: int,
    max_stderr_bytes: int,
) -> Finished:
    """Run an argument list without a shell. `OSError` when it cannot be started.

    Its process group is killed at the deadline, when the output runs over, when the caller is cancelled, and also after
    the program has ended, so that no child of it lives on. All of it also ends when this process is killed.
    """
    child = Child(
        command,
        env=env,
        cwd=cwd,
        max_bytes=max_stdout_bytes,
        max_stderr_bytes=max_stderr_bytes,
        ends_with_us=True,
    )
    try:
        child.write(stdin)
        child.end_input()
        # not awaited itself: giving up the wait must not cancel what everyone else goes by
        await asyncio.wait([child.closed], timeout=timeout_seconds)
        timed_out = child.status is None and not child.overflow
    finally:
        await child.end()
    return Finished(
        exit_code=-signal.SIGKILL if child.status is None else child.status,
        stdout=bytes(child.output),
        stderr=bytes(child.stderr),
        timed_out=timed_out,
        stdout_too_long=child.overflow,
    )
