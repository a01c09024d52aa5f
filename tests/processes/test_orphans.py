"""What a program leaves in sessions of their own is ended with it."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.processes.capped import run_capped
from assay.processes.child import Child, kill_every_child
from assay.processes.descendants import MARK
from assay.processes.environment import bare_environment
from assay.processes.orphans import adopt, end_orphans, marked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives us the orphans of others")


@pytest.fixture(autouse=True)
def _adopted() -> Iterator[None]:
    """As in the command's own process; undone, or orphans of other tests would stay with this process as zombies."""
    adopt()
    yield
    adopt(orphans=False)


HOLDS = "import sys, time; f = open(sys.argv[1], 'wb', 0); f.write(b'x'); time.sleep(120); f.write(b'left alone')"
DAEMON = f"""
import os, subprocess, sys
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(sys.executable, [sys.executable, "-S", "-c", {HOLDS!r}, sys.argv[1]])
        os._exit(0)
    os.wait()
daemon()
open(sys.argv[1] + ".read", "rb").read(1)
"""
"""Starts a daemon by the book, whose parent has ended and whose session is its own, and waits until it runs."""


class Held:
    """A pipe that every live process holds open, and writes to before it ends by itself.

    Reading nothing but its end proves that none was left.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pipe"
        os.mkfifo(self.path)
        os.mkfifo(f"{self.path}.read")
        self._reading = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_until_it_runs(self) -> None:
        select.select([self._reading], [], [])
        assert os.read(self._reading, 1) == b"x"

    def release_once_it_runs(self) -> None:
        self.wait_until_it_runs()
        Path(f"{self.path}.read").write_bytes(b"x")

    def assert_no_process_holds_it(self) -> None:
        os.set_blocking(self._reading, True)
        assert os.read(self._reading, 1) == b""

    def close(self) -> None:
        os.close(self._reading)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    pipe = Held(tmp_path)
    yield pipe
    pipe.close()


def command(held: Held, *, then: str = "") -> list[str]:
    return [sys.executable, "-S", "-c", DAEMON + then, str(held.path)]


def test_a_daemon_does_not_outlive_a_program_that_has_ended_by_itself(held: Held) -> None:
    async def run() -> int:
        releasing = asyncio.to_thread(held.release_once_it_runs)
        running = run_capped(
            command(held),
            stdin=b"",
            timeout_seconds=60,
            env=bare_environment(),
            max_stdout_bytes=100,
            max_stderr_bytes=1000,
        )
        _, finished = await asyncio.gather(releasing, running)
        return finished.exit_code

    assert asyncio.run(run()) == 0
    held.assert_no_process_holds_it()


def test_a_daemon_does_not_outlive_a_program_that_is_killed(held: Held) -> None:
    async def run() -> None:
        child = Child(command(held, then="import time; time.sleep(60)"), env=bare_environment())
        await asyncio.to_thread(held.release_once_it_runs)
        await child.end()

    asyncio.run(run())
    held.assert_no_process_holds_it()


def test_a_process_that_ends_there_and_then_leaves_nothing(held: Held) -> None:
    async def run() -> None:
        child = Child(command(held, then="import time; time.sleep(60)"), env=bare_environment())
        await asyncio.to_thread(held.release_once_it_runs)
        kill_every_child()
        held.assert_no_process_holds_it()
        await child.end()

    asyncio.run(run())


def test_children_of_others_in_this_process_are_left_alone() -> None:
    # a real number: in a container the session of every process may be one outside of it, which is shown as 0
    leader = subprocess.Popen(["true"], start_new_session=True)
    _, mark = marked({})
    others = [subprocess.Popen(["sleep", "60"], start_new_session=own) for own in (False, True)]
    leader.wait()
    try:
        end_orphans(leader.pid, mark)
        assert [other.poll() for other in others] == [None, None]
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_a_mark_is_added_to_those_of_the_programs_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MARK, "outer")
    env, mark = marked({"A": "b"})
    assert env == {"A": "b", MARK: f"outer/{mark}"}
