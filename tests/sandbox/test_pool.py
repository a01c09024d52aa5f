"""The pool: busy neighbours, cancelled work, broken zygotes, killed harnesses, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from assay.core.errors import FailureError
from assay.sandbox import IoPairs, Limits, Program, Sandbox, SandboxReport, TestProgram, pool
from assay.sandbox.assertions import Plan
from assay.sandbox.judge import plan_of
from assay.sandbox.relay import Relay
from assay.sandbox.zygote import Zygote

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full sandbox is Linux only")

HONEST = IoPairs(code="def f(x): return x + 1", pairs=((1, 2),))
STUCK = IoPairs(code="import time\ndef f(x): time.sleep(1000)", pairs=((1, 2),))


def children(pid: int | None = None) -> set[int]:
    """By the parent that each process names: a thread's own list of its children goes when the thread ends."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return {child for child, parent in parents.items() if parent == (pid or os.getpid())}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_when_the_sandbox_closes() -> None:
    processes, files = children(), descriptors()

    async def use() -> None:
        async with Sandbox(workers=2) as sandbox:
            await asyncio.gather(*[sandbox.run(HONEST) for _ in range(8)])
            assert len(children() - processes) == 2

    asyncio.run(use())
    assert children() == processes
    assert descriptors() <= files + 1  # asyncio keeps one of its own for the default executor


def test_a_stuck_candidate_blocks_neither_its_neighbours_nor_the_loop() -> None:
    async def use() -> None:
        async with Sandbox(workers=2) as sandbox:
            stuck = asyncio.create_task(sandbox.run(STUCK, Limits(wall_seconds=60)))
            outcomes = await asyncio.wait_for(asyncio.gather(*[sandbox.run(HONEST) for _ in range(10)]), 30)
            assert {outcome.outcome for outcome in outcomes} == {"pass"}
            assert not stuck.done()
            stuck.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stuck

    asyncio.run(use())


def test_a_cancelled_program_frees_its_worker() -> None:
    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(sandbox.run(STUCK, Limits(wall_seconds=600)), 0.3)
            outcome = await asyncio.wait_for(sandbox.run(HONEST), 30)
            assert outcome.outcome == "pass"
            assert sandbox.replaced == 0

    asyncio.run(use())


def test_one_sandbox_serves_one_event_loop_after_another() -> None:
    sandbox = Sandbox(workers=1)
    try:
        for _ in range(2):
            assert asyncio.run(sandbox.run(HONEST)).outcome == "pass"
    finally:
        sandbox.close()


async def until_served(sandbox: Sandbox, count: int) -> None:
    """Until the first worker's zygote has forked this often, its canaries included."""
    zygote = sandbox._threads[0]._zygote
    assert zygote is not None
    while zygote.served < count:  # noqa: ASYNC110
        await asyncio.sleep(0.01)  # the zygote's work has no event to wait for


def test_closing_while_something_runs_ends_it() -> None:
    async def use() -> None:
        sandbox = Sandbox(workers=1)
        await sandbox.start()
        running = asyncio.create_task(sandbox.run(STUCK, Limits(wall_seconds=600)))
        await until_served(sandbox, 11)
        queued = asyncio.create_task(sandbox.run(HONEST))
        await asyncio.sleep(0)  # its turn to ask
        await asyncio.wait_for(sandbox.aclose(), 30)
        for task in (running, queued):
            with pytest.raises(FailureError):
                await task

    asyncio.run(use())


class HeldAtTheDoor(Sandbox):
    """Lets nobody on who has waited for the start, until told."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.waiting = asyncio.Event()
        self.go_on = asyncio.Event()

    async def start(self) -> SandboxReport:
        try:
            return await super().start()
        finally:
            self.waiting.set()
            await self.go_on.wait()


def test_closing_ends_a_program_that_has_not_started_yet() -> None:
    async def use() -> None:
        sandbox = HeldAtTheDoor()
        waiting = asyncio.create_task(sandbox.run(HONEST))
        await sandbox.waiting.wait()
        await sandbox.aclose()
        sandbox.go_on.set()
        with pytest.raises(FailureError, match="closed"):
            await asyncio.wait_for(waiting, 30)

    asyncio.run(use())


def test_closing_before_the_start_ends_a_program_that_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Sandbox.start_here

    def closed_in_between(sandbox: Sandbox) -> None:
        sandbox.close()
        real(sandbox)

    monkeypatch.setattr(Sandbox, "start_here", closed_in_between)
    with pytest.raises(FailureError, match="closed"):
        asyncio.run(Sandbox(workers=1).run(HONEST))


def test_closing_while_a_program_is_being_planned_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = Sandbox(workers=1)

    def closed_in_between(program: Program) -> Plan | None:
        closing = threading.Thread(target=sandbox.close)
        closing.start()
        closing.join()
        return plan_of(program)

    sandbox.start_here()
    monkeypatch.setattr(pool, "plan_of", closed_in_between)
    with pytest.raises(FailureError, match="closed"):
        asyncio.run(asyncio.wait_for(sandbox.run(HONEST), 30))


def test_closing_while_a_worker_takes_a_program_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker throws away old wake-ups when it takes a job: the one that says stop must not be lost with them."""
    took, told = threading.Event(), threading.Event()
    drain, interrupt = pool.Worker._drain_wake, pool.Worker.interrupt

    def drain_after_the_interrupt(worker: pool.Worker) -> None:
        took.set()
        assert told.wait(30)
        drain(worker)

    def interrupt_and_tell(worker: pool.Worker) -> None:
        interrupt(worker)
        told.set()

    monkeypatch.setattr(pool.Worker, "_drain_wake", drain_after_the_interrupt)
    monkeypatch.setattr(pool.Worker, "interrupt", interrupt_and_tell)

    async def use() -> None:
        sandbox = Sandbox(workers=1)
        running = asyncio.create_task(sandbox.run(STUCK, Limits(wall_seconds=600)))
        await asyncio.to_thread(took.wait, 30)
        await asyncio.wait_for(sandbox.aclose(), 30)
        with pytest.raises(FailureError):
            await running

    asyncio.run(use())


def test_closing_while_a_broken_zygote_is_replaced_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Zygote] = []

    class ClosedMeanwhile(Zygote):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            started.append(self)
            if len(started) == 2:  # the first is the sandbox's own, the second takes its place
                closing.start()
                while not sandbox._threads[0].stopping:
                    os.sched_yield()

    monkeypatch.setattr(pool, "Zygote", ClosedMeanwhile)
    sandbox = Sandbox(workers=1)
    closing = threading.Thread(target=sandbox.close)

    async def use() -> None:
        await sandbox.start()
        started[0]._process.kill()
        started[0]._process.wait()
        with pytest.raises(FailureError):
            await asyncio.wait_for(sandbox.run(STUCK, Limits(wall_seconds=600)), 30)

    asyncio.run(use())
    closing.join()
    assert started[1]._process.poll() is not None


def test_closing_twice_at_a_time_and_again_is_the_same_as_once() -> None:
    sandbox = Sandbox(workers=1)
    sandbox.start_here()
    both = [threading.Thread(target=sandbox.close) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    sandbox.close()
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(sandbox.run(HONEST))


@pytest.mark.parametrize(("part", "method"), [(pool, "wake_pipe"), (pool.Worker, "start")])
def test_a_start_that_breaks_off_leaves_no_zygote_and_can_be_tried_again(
    part: Any, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, files = children(), descriptors()
    real, calls = getattr(part, method), []

    def once_and_no_more(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 2:
            raise OSError(24, "Too many open files")
        return real(*given)

    sandbox = Sandbox(workers=2)
    with monkeypatch.context() as poor:
        poor.setattr(part, method, once_and_no_more)
        with pytest.raises(OSError, match="Too many"):
            sandbox.start_here()
    assert (children(), descriptors()) == (processes, files)
    assert asyncio.run(asyncio.wait_for(sandbox.run(HONEST), 60)).outcome == "pass"
    sandbox.close()


ASSERTED = TestProgram(code="def f(x): return 'odd'", tests="r = f(1)\nassert r == 'odd'")


def test_our_own_error_over_a_candidates_data_is_its_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep for us")

    monkeypatch.setattr(Relay, "answer", broken)

    async def use() -> None:
        async with Sandbox(workers=1) as sandbox:
            outcome = await sandbox.run(ASSERTED)
            assert outcome.outcome == "violation"
            assert "RecursionError" in outcome.checks[0].detail
            assert sandbox.replaced == 0

    asyncio.run(use())


HARNESS = """
import asyncio, sys
from assay.sandbox import IoPairs, Limits, Sandbox

async def main():
    async with Sandbox(workers=2, pretend={pretend!r}) as sandbox:
        code = "import time\\ndef f(x):\\n    print('running', flush=True)\\n    time.sleep(1000)"
        program = IoPairs(code=code, pairs=((1, 1),))
        both = [asyncio.create_task(sandbox.run(program, Limits(wall_seconds=1000))) for _ in range(2)]
        while sum(worker._zygote.served if worker._zygote else 0 for worker in sandbox._threads) < 12:
            await asyncio.sleep(0.01)
        print("ready", flush=True)
        await asyncio.gather(*both)

asyncio.run(main())
"""


@pytest.mark.parametrize("pretend", [(), ("container",)], ids=["namespaces", "no namespaces"])
def test_no_candidate_survives_a_killed_harness(pretend: tuple[str, ...]) -> None:
    code = textwrap.dedent(HARNESS).format(pretend=pretend)
    environment = {**os.environ, "PYTHONPATH": str(Path(pool.__file__).parents[2])}
    deadline = time.monotonic() + 60
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as harness:
        try:
            assert harness.stdout is not None
            assert harness.stdout.readline() == b"ready\n"
            zygotes_and_candidates = 4 if pretend else 6
            while len(family := descendants(harness.pid)) < zygotes_and_candidates and time.monotonic() < deadline:
                os.sched_yield()
        finally:
            harness.send_signal(signal.SIGKILL)
    assert len(family) == zygotes_and_candidates
    while alive(family) and time.monotonic() < deadline:
        os.sched_yield()
    assert alive(family) == set()


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    try:
        for child in children(pid):
            found |= {child, *descendants(child)}
    except (FileNotFoundError, ProcessLookupError):
        pass  # it ended while we looked
    return found


def alive(pids: set[int]) -> set[int]:
    running = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":  # an orphan's body waits for init; it runs no more
            running.add(pid)
    return running


def test_many_candidates_leave_no_trace() -> None:
    others = descendants(os.getpid())

    async def use() -> None:
        async with Sandbox(workers=2) as sandbox:
            await asyncio.gather(*[sandbox.run(HONEST) for _ in range(20)])
            files, memory = descriptors(), resident_kb()
            for _ in range(3):
                outcomes = await asyncio.gather(*[sandbox.run(HONEST) for _ in range(50)])
                assert {outcome.outcome for outcome in outcomes} == {"pass"}
            assert descriptors() == files
            assert resident_kb() < memory + 4_000
            assert len(descendants(os.getpid()) - others) <= 4  # two zygotes, each perhaps with an outer half

    asyncio.run(use())


def resident_kb() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4
