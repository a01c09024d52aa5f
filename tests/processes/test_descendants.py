"""What descends from a program is found by its session or its mark, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from assay.processes.descendants import MARK, descends, watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")


OURS = f"test-descendants-{os.getpid()}"
"""Nobody else's marks begin with it."""


@contextmanager
def sleeper(env: Mapping[str, str], *, own_session: bool = True) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"], env=dict(env), start_new_session=own_session)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_process_that_is_gone_descends_from_nothing() -> None:
    gone = subprocess.Popen(["true"], env={MARK: "mark"})
    gone.wait()
    assert not descends(gone.pid, {"mark": 0})


def test_when_the_lines_end_what_runs_is_killed_and_all_else_left_alone() -> None:
    with (
        sleeper({MARK: f"outer/{OURS}-1/inner"}) as marked,
        sleeper({}) as leader,
        sleeper({MARK: f"{OURS}-10"}) as other_mark,
        sleeper({MARK: f"{OURS}-2"}) as ended,
        sleeper({}, own_session=False) as unmarked,
    ):
        lines = ["+ {}-1", "+ {}-2", "+ {}-3", f"+ {{}}-3 {leader.pid}", "- {}-2"]
        watch(line.format(OURS) for line in lines)
        assert marked.wait() == leader.wait() == -signal.SIGKILL
        assert [other.poll() for other in (other_mark, ended, unmarked)] == [None, None, None]


def test_a_process_of_the_session_that_left_the_group_and_emptied_its_environment_is_killed() -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '600'], env={}, process_group=0).pid, flush=True)"
    leader = subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert leader.stdout is not None
    assert int(leader.stdout.readline()) > 0
    watch([f"+ {OURS} {leader.pid}"])
    assert leader.stdout.read() == b""  # whoever held it is gone
    leader.stdout.close()
    leader.wait()
