"""The CPU seconds of every test, its set-up and the child processes it waited for: `pytest -p tests.cpu_seconds`.

Unlike wall time they mean the same on a crowded machine. A child that outlives its test counts where it is reaped.
`CPU_SECONDS_FILE` names a file for all of them (one line per test); the summary shows the heaviest.
"""

from __future__ import annotations

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
    before, started = sum(os.times()[:4]), time.monotonic()
    try:
        return (yield)
    finally:
        used = sum(os.times()[:4]) - before
        seconds[item.nodeid, phase] += used
        waits[item.nodeid, phase] += max(0.0, time.monotonic() - started - used)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if path := os.environ.get("CPU_SECONDS_FILE"):
        lines = [f"{used:.2f}\t{waits[key]:.2f}\t{key[1]}\t{key[0]}\n" for key, used in seconds.most_common()]
        Path(path).write_text("".join(lines))
    terminalreporter.section(f"CPU seconds: {sum(seconds.values()):.0f}")
    for (test, phase), used in seconds.most_common(SHOWN):
        terminalreporter.write_line(f"{used:8.2f}  {phase:8}  {test}")
