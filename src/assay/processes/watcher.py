"""What a program has started ends with this process, even when this process is killed.

A watcher, one for all programs, is started with the first of them and sent the list of those that run. On Linux it ends
the processes in a program's session and those that have inherited its mark; elsewhere the program's process group. The
kernel's own means (`PR_SET_PDEATHSIG`) would end the program alone, and cost a copy of our memory map for each start.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

from assay.processes import descendants
from assay.processes.descendants import MARK
from assay.processes.environment import bare_environment
from assay.processes.start import Process, close_pipes, start

_PROGRAM = Path(descendants.__file__)


class Watcher:
    """A process that is started when first needed, and replaced when it is gone while programs run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Process | None = None
        self._programs: dict[str, int | None] = {}

    def add(self, mark: str) -> None:
        """A program is about to be started with this mark. `OSError` when the watcher cannot be started."""
        with self._lock:
            self._programs[mark] = None
            self._send(f"+ {mark}\n")

    def set_leader(self, mark: str, leader: int) -> None:
        """The program was started, and leads this session."""
        with self._lock, suppress(OSError):  # it runs, watched or not; the next to be added reports what is wrong
            self._programs[mark] = leader
            self._send(f"+ {mark} {leader}\n")

    def remove(self, mark: str) -> None:
        """Nothing is left of the program, which need not have been added."""
        with self._lock, suppress(OSError):
            if mark in self._programs:
                del self._programs[mark]
                self._send(f"- {mark}\n")

    def stop(self) -> None:
        """Called at the end of this process: what still runs is ended by the watcher, which outlives us for it."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                if not self._programs:
                    process.kill()
                close_pipes(process)
                process.wait()

    def forget(self) -> None:
        """Called in a forked child: the watcher must see the end of the parent alone."""
        self._lock = threading.Lock()
        self._programs = {}
        process, self._process = self._process, None
        if process is not None:
            close_pipes(process)
            process.returncode = 0

    def _send(self, line: str) -> None:
        if self._process is not None:
            try:
                os.write(_input(self._process).fileno(), line.encode())
            except OSError:  # it was killed, or stopped for so long that its input is full
                process, self._process = self._process, None
                process.kill()
                close_pipes(process)
                process.wait()
        if self._process is None and self._programs:
            self._process = _started(self._programs)


def _started(programs: Mapping[str, int | None]) -> Process:
    """A watcher of these programs.

    It is named without its folder: who kills every process with our name in its command line shall not kill it too.
    """
    outer = {MARK: os.environ[MARK]} if MARK in os.environ else {}
    command = [sys.executable, "-I", "-S", _PROGRAM.name]
    process = start(command, env=bare_environment(**outer), cwd=_PROGRAM.parent)
    for mark, leader in programs.items():
        os.write(_input(process).fileno(), f"+ {mark} {'' if leader is None else leader}\n".encode())
    os.set_blocking(_input(process).fileno(), False)
    return process


def _input(process: Process) -> IO[bytes]:
    return cast("IO[bytes]", process.stdin)


watcher = Watcher()
atexit.register(watcher.stop)
os.register_at_fork(after_in_child=watcher.forget)
