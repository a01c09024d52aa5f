"""A running program: what it wrote, how it ended, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.forked import forked

from assay.processes import start as start_module
from assay.processes.child import Child, kill_every_child
from assay.processes.environment import bare_environment

WAITS = "import sys; sys.stdin.read()"
ECHOES = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()"


@pytest.fixture(params=["pidfd", "thread"])
def watched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of hearing that a process has ended; only Linux has the first."""
    if request.param == "thread":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfd here")


def start(code: str, **options: object) -> Child:
    return Child([sys.executable, "-S", "-c", code], env=bare_environment(), **options)  # type: ignore[arg-type]


def loops() -> list[Callable[[], asyncio.AbstractEventLoop]]:
    try:
        import uvloop
    except ImportError:
        return [asyncio.new_event_loop]
    return [asyncio.new_event_loop, uvloop.new_event_loop]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("loop", loops())
def test_ending_it_reports_the_signal_whoever_reaps_it_first(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def statuses() -> set[int | None]:
        children = [start(WAITS) for _ in range(8)]
        for child in children[::2]:
            child.kill()
        for child in children[1::4]:
            os.kill(child.pid, signal.SIGKILL)
        await asyncio.gather(*(child.end() for child in children))
        return {child.status for child in children}

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(statuses()) == {-signal.SIGKILL}


@pytest.mark.usefixtures("watched")
def test_a_program_that_ends_in_its_grace_time_is_not_killed() -> None:
    async def status() -> int | None:
        child = start(WAITS)
        await child.end(grace_seconds=60)
        return child.status

    assert asyncio.run(status()) == 0


@pytest.mark.parametrize("loop", loops())
def test_lines_of_any_size_go_in_and_come_out_in_order(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    sent = [b"x" * size for size in (1, 70_000, 3, 1_000_000, 2)]

    async def echoed() -> list[bytes]:
        lines: list[bytes] = []
        child = start(ECHOES, on_line=lambda _, line: lines.append(line))
        for line in sent:
            child.write(line + b"\n\n")
        child.end_input()
        await asyncio.wait([child.closed])
        return lines

    with asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(echoed()) == sent


def test_what_follows_the_last_line_break_is_a_line_and_no_line_is_too_long() -> None:
    async def lines_of(code: str) -> tuple[list[bytes], bool, int | None]:
        lines: list[bytes] = []
        child = start(code, on_line=lambda _, line: lines.append(line), max_bytes=1000)
        await asyncio.wait([child.closed])
        return lines, child.overflow, child.status

    assert asyncio.run(lines_of("print('a' * 900); print('b' * 900, end='')")) == ([b"a" * 900, b"b" * 900], False, 0)
    endless = "import sys\nprint('a', flush=True)\nwhile True: sys.stdout.write('b' * 100)"
    assert asyncio.run(lines_of(endless)) == ([b"a"], True, -signal.SIGKILL)


def test_a_program_that_reads_nothing_and_ends_loses_its_input() -> None:
    async def status() -> int | None:
        child = start("raise SystemExit(4)")
        child.write(b"x" * 1_000_000)
        child.end_input()
        await asyncio.wait([child.closed])
        child.write(b"more")
        return child.status

    assert asyncio.run(status()) == 4


def test_pipes_held_open_outside_the_group_do_not_block() -> None:
    code = "import os, sys\nif os.fork(): sys.stdin.readline()\nelse:\n os.setsid()\n"
    code += " os.execve('/bin/sh', ['sh', '-c', 'echo $$; exec sleep 600'], {})"

    async def run() -> tuple[int, int | None]:
        told: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        child = start(code, on_line=lambda _, line: told.set_result(int(line)))
        other = await told
        child.end_input()
        await asyncio.wait([child.closed])
        return other, child.status

    other, status = asyncio.run(run())
    os.kill(other, signal.SIGKILL)  # it lives: without an environment it has no mark either
    assert status == 0


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("loop", loops())
def test_a_program_whose_loop_was_closed_is_ended(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def left_running() -> int:
        return start(WAITS, on_line=lambda _child, _line: None).pid

    with asyncio.Runner(loop_factory=loop) as runner:
        pid = runner.run(left_running())
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_forked_copy_does_not_kill_what_this_process_has_started() -> None:
    async def run() -> int | None:
        child = start(WAITS)
        assert forked(kill_every_child) == 0
        child.end_input()
        await asyncio.wait([child.closed])
        return child.status

    assert asyncio.run(run()) == 0


@pytest.mark.usefixtures("watched")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_number_is_killed_that_may_be_anothers_by_now(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[bool] = []

    def kill_group(leader: int) -> None:
        killed.append(Path(f"/proc/{leader}/stat").exists())
        start_module.kill_group(leader)

    monkeypatch.setattr("assay.processes.child.kill_group", kill_group)

    async def run() -> None:
        child = start("pass")
        await asyncio.wait([child.closed])
        child.kill()
        await child.end()

    asyncio.run(run())
    gc.collect()
    assert killed == [True]


def test_a_line_that_is_too_long_is_refused_also_when_it_comes_at_once() -> None:
    async def run() -> tuple[bool, list[bytes]]:
        lines: list[bytes] = []
        code = "import sys; sys.stdout.write('ok\\n' + 'x' * 300 + '\\nmore\\n'); sys.stdout.flush(); sys.stdin.read()"
        child = start(code, on_line=lambda _, line: lines.append(line), max_bytes=200)
        await asyncio.wait([child.closed])
        return child.overflow, lines

    assert asyncio.run(run()) == (True, [b"ok"])
