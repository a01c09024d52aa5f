"""A program run to its end: what it wrote, or why there is less of it."""

from __future__ import annotations

import asyncio
import signal
import sys

from assay.processes.capped import Finished, run_capped
from assay.processes.environment import bare_environment


def run(code: str, stdin: bytes = b"", timeout_seconds: float | None = 60.0) -> Finished:
    return asyncio.run(
        run_capped(
            [sys.executable, "-S", "-c", code],
            stdin=stdin,
            timeout_seconds=timeout_seconds,
            env=bare_environment(),
            max_stdout_bytes=100_000,
            max_stderr_bytes=10,
        )
    )


def test_all_it_wrote_is_there_byte_by_byte() -> None:
    copy = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()); sys.stderr.write('x' * 99 + 'last words')"
    data = b"a\n\n \r\n\xff" * 10_000
    finished = run(copy, data, timeout_seconds=None)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (0, data, b"last words")
    assert (finished.timed_out, finished.stdout_too_long) == (False, False)


def test_it_is_killed_when_its_time_is_up_or_it_writes_too_much() -> None:
    slow = run("import time; time.sleep(600)", b"x" * 1_000_000, timeout_seconds=0.1)
    assert (slow.timed_out, slow.stdout_too_long, slow.exit_code) == (True, False, -signal.SIGKILL)
    endless = run("while True: print('more')")
    assert (endless.timed_out, endless.stdout_too_long, endless.exit_code) == (False, True, -signal.SIGKILL)


def test_one_that_reads_nothing_has_its_status() -> None:
    assert run("raise SystemExit(5)", b"x" * 1_000_000).exit_code == 5
