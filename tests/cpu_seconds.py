"""The CPU seconds of every test, its set-up and all processes below it: `pytest -p tests.cpu_seconds`.

Unlike wall time they mean the same on a crowded machine. A process that outlives its test counts in each test by what
it did there; what the processes did that the forker of commands (`end_to_end/forks.py`) has started counts too.
`CPU_SECONDS_FILE` names a file for all of them (one line per test); the summary shows the heaviest.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOWN = 25
seconds: Counter[tuple[str, str]] = Counter()
waits: Counter[tuple[str, str]] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    yield from _measured(item, "setup")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield from _measured(item, "call")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    yield from _measured(item, "teardown")


def _measured(item: pytest.Item, phase: str) -> Iterator[None]:
    before = _seconds_below()
    before, started = before + _seconds(), time.monotonic()
    try:
        return (yield)
    finally:
        used = _seconds()
        used = max(0.0, used + _seconds_below() - before)  # of a process that nobody waited for nothing is left
        seconds[item.nodeid, phase] += used
        waits[item.nodeid, phase] += max(0.0, time.monotonic() - started - used)


def _seconds() -> float:
    return sum(os.times()[:4])


def _seconds_below() -> float:
    """What living processes below this one have used, and those that they have waited for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return 0.0
    used: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            fields = status.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(process := int(status.parent.name))
            used[process] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    below = [*children.get(os.getpid(), ())]
    for process in below:
        below += children.get(process, ())
    return sum(used[process] for process in below)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if path := os.environ.get("CPU_SECONDS_FILE"):
        lines = [f"{used:.2f}\t{waits[key]:.2f}\t{key[1]}\t{key[0]}\n" for key, used in seconds.most_common()]
        Path(path).write_text("".join(lines))
    terminalreporter.section(f"CPU seconds: {sum(seconds.values()):.0f}")
    for (test, phase), used in seconds.most_common(SHOWN):
        terminalreporter.write_line(f"{used:8.2f}  {phase:8}  {test}")
