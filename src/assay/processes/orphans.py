"""What a program leaves running outside of its process group: found when the program has ended, and ended too.

A browser or a daemon begins a session of its own, so killing the group does not reach it. On Linux a command of ours
becomes its parent when its own has ended (`PR_SET_CHILD_SUBREAPER`), and knows whose it was by its session or by a mark
in the environment that it has inherited. Elsewhere, and for a program that empties its environment, the group is all
that is ended; so too in somebody else's Python process, with which its own orphans would stay as zombies.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from assay import processes
from assay.processes.descendants import MARK, all_processes, descends, stat_of
from assay.processes.prctl import prctl

LONGEST_END_SECONDS = 1.0
"""What was killed is gone by then, or hangs in the kernel and is left to it."""
_PR_SET_CHILD_SUBREAPER = 36
_ROUNDS = 100
_numbers = count(1)
_secret = os.urandom(8).hex()
_adopting: set[int] = set()
"""Processes in which that is done: this one, and perhaps the one it was forked from."""


def adopt(*, orphans: bool = True) -> None:
    """From now on this process is the parent of what its programs leave behind; or no longer."""
    prctl(_PR_SET_CHILD_SUBREAPER, int(orphans))


def marked(env: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """An environment for a program whose descendants shall be found, and the mark that finds them."""
    if processes.is_command and os.getpid() not in _adopting:
        adopt()
        _adopting.add(os.getpid())
    mark = f"{_secret}-{os.getpid()}-{next(_numbers)}"
    outer = os.environ.get(MARK)  # ours, where a program that was started by assay has started assay
    return {**env, MARK: f"{outer}/{mark}" if outer else mark}, mark


def end_orphans(leader: int, mark: str) -> None:
    """Kill all that an ended program has left behind, whatever session it is in; returns when it is gone."""
    if sys.platform != "linux":
        return
    for _ in range(_ROUNDS):  # a killed process leaves its own children to us
        orphans = [pid for pid in _children_after(leader) if descends(pid, {mark: leader})]
        if not orphans:
            return
        for pid in orphans:
            _kill_and_reap(pid)


def _children_after(leader: int) -> Iterator[int]:
    """Our own children that may be younger than a program: numbers are given out in ascending order."""
    try:
        lists = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    except OSError:  # a thread that has just ended
        lists = []
    if lists:
        yield from (pid for line in lists for pid in map(int, line.split()) if pid > leader)
        return
    us = os.getpid()  # a kernel without these lists
    for pid in all_processes():
        if pid > leader and (stat := stat_of(pid)) and int(stat[1]) == us:
            yield pid


def _kill_and_reap(pid: int) -> None:
    """A child of ours keeps its number until we have looked how it ended."""
    try:
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + LONGEST_END_SECONDS
        while os.waitpid(pid, os.WNOHANG) == (0, 0) and time.monotonic() < deadline:
            time.sleep(0.001)
    except (ProcessLookupError, ChildProcessError, PermissionError):
        pass  # it was already reaped, or it now belongs to another user
