"""The watcher outlives the process it watches for, by as long as it takes to end what that has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from assay.processes.descendants import MARK
from assay.processes.watcher import Watcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a mark is read from /proc")

FORKS = """
import os, sys
from assay.processes.watcher import watcher
watcher.add(sys.argv[1])
if os.fork():
    os.kill(os.getpid(), 9)
sys.stdin.read()
"""


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> str:
    """Nobody else's."""
    return f"{os.getpid()}-{request.node.name}"


def sleeper(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"], env={MARK: mark}, start_new_session=True)


def test_what_runs_at_the_end_is_ended(mark: str) -> None:
    program, watcher = sleeper(mark), Watcher()
    watcher.add(mark)
    watcher.stop()
    assert program.wait(timeout=0) == -signal.SIGKILL


def test_what_has_ended_is_no_more_looked_for(mark: str) -> None:
    program, watcher = sleeper(mark), Watcher()
    watcher.add(mark)
    watcher.set_leader(mark, program.pid)
    watcher.remove(mark)
    watcher.remove("never added")
    watcher.stop()
    assert program.poll() is None
    program.kill()
    program.wait()


def test_one_that_was_killed_is_replaced_and_knows_what_runs(mark: str) -> None:
    program, watcher = sleeper(mark), Watcher()
    watcher.add(mark)
    watcher.set_leader(mark, program.pid)
    assert watcher._process is not None
    watcher._process.kill()
    watcher._process.wait()
    watcher.add("another")
    watcher.stop()
    assert program.wait(timeout=0) == -signal.SIGKILL


def test_a_fork_that_lives_on_does_not_hide_the_end(mark: str) -> None:
    program = sleeper(mark)
    forking = subprocess.Popen([sys.executable, "-c", FORKS, mark], stdin=subprocess.PIPE)
    assert program.wait(timeout=60) == -signal.SIGKILL
    forking.communicate()
    assert forking.returncode == -signal.SIGKILL
