"""A program that a killed command has started ends with it, and so does what the program has started."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.end_to_end.commands import start_assay, write_task

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("setsid") is None, reason="sessions are found in /proc"
)

PROGRAM = """\
exec 9>"$1"
setsid sleep 600 &
echo "$$ $!" >&9
wait
"""
"""Both processes hold the pipe open; the second is in a session of its own."""
WAIT_SECONDS = 60.0


class Pipe:
    """A pipe that the started processes hold open for as long as they live."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.pids: list[int] = []

    def wait_until_they_run(self) -> None:
        self.pids = [int(pid) for pid in self._next().split()]

    def wait_until_they_are_gone(self) -> None:
        assert self._next() == b""

    def close(self) -> None:
        """Leave no process behind either way."""
        if self.pids and not select.select([self._reading], [], [], 0)[0]:
            for pid in self.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        os.close(self._reading)

    def _next(self) -> bytes:
        ready, _, _ = select.select([self._reading], [], [], WAIT_SECONDS)
        assert ready, f"still open after {WAIT_SECONDS:g} s"
        return os.read(self._reading, 100)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    held = Pipe(tmp_path / "pipe")
    yield held
    held.close()


@pytest.mark.parametrize("kind", ["evaluator", "kept evaluator", "model", "kept model"])
def test_nothing_outlives_a_killed_command(kind: str, tmp_path: Path, pipe: Pipe) -> None:
    (tmp_path / "program.sh").write_text(PROGRAM)
    program = "bash program.sh pipe"
    if kind.endswith("evaluator"):
        (tmp_path / "text.txt").write_text("A text.")
        kept = ["--evaluator-persistent"] if kind.startswith("kept") else []
        arguments = ["score", "text.txt", "--evaluator-command", program, *kept]
    else:
        write_task(tmp_path / "task.jsonl", {"one": "1"})
        kept = ["--model-arg", "persistent=true"] if kind.startswith("kept") else []
        arguments = ["run", "task.jsonl", "--model", f"command:{program}", *kept]
    command = start_assay(*arguments, cwd=tmp_path)
    try:
        pipe.wait_until_they_run()
    finally:
        command.send_signal(signal.SIGKILL)
        command.wait()
    pipe.wait_until_they_are_gone()
