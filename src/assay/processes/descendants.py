"""Which processes descend from a started program; and, run by its path, the watcher that ends them.

The watcher serves one process that starts programs, and reads from its standard input which of them run: `+ MARK`
before one is started, `+ MARK LEADER` once it leads a session, `- MARK` when nothing of it is left. Its input ends with
that process, even one that was killed, and the watcher then kills all that still descends from these programs. It
imports little: its start is paid by every command that starts a program.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping

MARK = "ASSAY_CHILD"
"""The variable that says which started programs a process descends from: their marks, the outermost first."""
ROUND_SECONDS = 0.02
QUIET_ROUNDS = 10
"""So often nothing is found before it is believed: a process that is just becoming a program shows no environment."""
LONGEST_SECONDS = 30.0
"""What was not gone by then hangs in the kernel."""


def descends(pid: int, programs: Mapping[str, int | None]) -> bool:
    """Whether a process is in the session of one of these programs, or has inherited its mark."""
    stat = stat_of(pid)
    return bool(stat) and (int(stat[3]) in programs.values() or not programs.keys().isdisjoint(_marks_of(pid)))


def stat_of(pid: int) -> list[str]:
    """State, parent, group, session, …; nothing when the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def watch(lines: Iterable[str]) -> None:
    """Follow which programs run; when the lines end, kill what is left of them."""
    programs: dict[str, int | None] = {}
    for line in lines:
        sign, mark, *leader = line.split()
        if sign == "+":
            programs[mark] = int(leader[0]) if leader else None
        else:
            programs.pop(mark, None)
    if not programs:
        return
    for group in programs.values():
        if group is not None:
            _kill_group(group)
    if sys.platform == "linux":
        _kill_descendants(programs)


def _kill_descendants(programs: Mapping[str, int | None]) -> None:
    deadline = time.monotonic() + LONGEST_SECONDS
    quiet = 0
    while quiet < QUIET_ROUNDS and time.monotonic() < deadline:
        found = [pid for pid in all_processes() if _is_alive(pid) and descends(pid, programs)]
        for pid in found:
            _kill(pid)
        quiet = 0 if found else quiet + 1
        time.sleep(ROUND_SECONDS)


def _is_alive(pid: int) -> bool:
    """Not for one that was killed and whose parent has not looked at it."""
    stat = stat_of(pid)
    return bool(stat) and stat[0] not in "ZX"


def _marks_of(pid: int) -> set[str]:
    try:
        with open(f"/proc/{pid}/environ", errors="replace") as file:
            variables = file.read().split("\0")
    except OSError:  # it is gone, or another user's
        return set()
    start = f"{MARK}="
    return {mark for variable in variables if variable.startswith(start) for mark in variable[len(start) :].split("/")}


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # it ended meanwhile, or became another user's


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # no process of the group is left


if __name__ == "__main__":
    os.chdir("/")  # no folder is kept from being removed
    watch(sys.stdin)
