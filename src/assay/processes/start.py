"""Where a child process is started: with the environment it is given and no other, in a session of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from assay.processes.privacy import keep_environment_private

Process = subprocess.Popen[bytes]
Stderr = Literal["read", "shared", "dropped"]
"""Whether its standard error is a pipe to us, is our own, or goes nowhere."""
_STDERR = {"read": subprocess.PIPE, "shared": None, "dropped": subprocess.DEVNULL}


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stderr: Stderr = "dropped",
    inherits: Sequence[int] = (),
) -> Process:
    """A program that is spoken to: its input and output are pipes. `OSError` when it cannot be started.

    Of our open files it has those in `inherits`, by the same numbers, and no other.

    It leads a process group, so that it can be ended with all it has started, and Ctrl-C is not for it. Nothing is
    run between fork and exec: copying the memory map of a large process would take longer than most programs.
    """
    keep_environment_private()
    return subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=_STDERR[stderr],
        cwd=cwd,
        env=dict(env),
        start_new_session=True,
        pass_fds=inherits,
    )


def start_job(command: Sequence[str], *, env: Mapping[str, str]) -> Process:
    """A program that runs to its end; its stderr goes to ours."""
    keep_environment_private()
    nothing = subprocess.DEVNULL
    return subprocess.Popen(list(command), stdin=nothing, stdout=nothing, env=dict(env), start_new_session=True)


def run_in_view(command: Sequence[str], *, env: Mapping[str, str]) -> int:
    """Run a program that the user watches, and may interrupt, on our standard error; its exit status."""
    keep_environment_private()
    return subprocess.call(list(command), stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), env=dict(env))


def kill_group(leader: int) -> None:
    """End what `start` has started and its process group. Processes that left the group are not killed."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # no process of the group is left


def wait_or_kill(process: Process, grace_seconds: float) -> int:
    """Its exit status, once it has ended by itself or by us."""
    try:
        return process.wait(timeout=grace_seconds)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        return process.wait()


def close_pipes(process: Process) -> None:
    for pipe in (process.stdout, process.stderr, process.stdin):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            pass  # it ended with part of its input unread


def how_it_ended(status: int) -> str:
    if status < 0:
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"
    return f"ended with status {status}"


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
