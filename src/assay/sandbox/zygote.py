"""The harness's side of one zygote: start it, have it fork children, receive how they ended, stop it."""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from typing import Any

from msgspec import Struct

from assay.processes.environment import bare_environment
from assay.sandbox.cgroups import Cgroup, CgroupParent, CgroupRefusedError
from assay.sandbox.inside import endings

MAIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside", "__main__.py")
START_SECONDS = 60.0
ENVIRONMENT = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


class ZygoteError(Exception):
    """The zygote, not a candidate, is broken."""


class ForkRefusedError(ZygoteError):
    """The zygote works, but the kernel refuses to fork another child."""


class SetupError(ZygoteError):
    """A child broke before it received anything of a candidate, which therefore cannot have caused it."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a child ended, reported by the zygote, its parent."""

    status: int
    cpu_seconds: float


class Zygote:
    """A running zygote. Not for use by two threads at once."""

    def __init__(self, plan: dict[str, Any], pretend: tuple[str, ...] = (), place: CgroupParent | str = "") -> None:
        """`place` is where its cgroup is created, or why there is none."""
        self.plan = plan
        self.cgroup: Cgroup | None = None
        self.served = 0
        self.ended: dict[int, Ended] = {}
        self._buffer = b""
        self._messages: deque[dict[str, Any]] = deque()
        self._descriptors: list[int] = []
        kind = socket.SOCK_SEQPACKET if sys.platform.startswith("linux") else socket.SOCK_STREAM
        self.control, theirs = socket.socketpair(socket.AF_UNIX, kind)
        try:
            self._process = _start(theirs)
            theirs.close()  # otherwise we would never notice that the zygote has closed its end
            limits = self._limit(place)  # before it has forked anything
            self.control.send(json.dumps({"plan": plan, "pretend": list(pretend)}).encode() + b"\n")
            self.layers, self.python = self._wait_until_ready()
            self.layers |= {"cgroup": limits} if limits else {}
        except BaseException:
            self._abandon()
            raise
        finally:
            theirs.close()

    def _limit(self, place: CgroupParent | str) -> str:
        """Create the cgroup and return its state for the report; the zygote also works without one."""
        if isinstance(place, str):
            return place and f"none: {place}"
        try:
            self.cgroup = place.enter(self._process.pid)
        except CgroupRefusedError as error:
            return f"none: {error}"
        return "ok: memory and tasks"

    def _wait_until_ready(self) -> tuple[dict[str, str], str]:
        deadline = time.monotonic() + START_SECONDS
        message = self._next_message(deadline)
        if "ready" not in message:
            raise ZygoteError(str(message.get("failed", "no answer"))[:500])
        return message["ready"], message["python"]

    def spawn(self, role: str, descriptors: list[int], *, cpu_seconds: float, memory_mb: int) -> tuple[int, int]:
        """Fork a child with these descriptors; return its pid in the zygote's namespace, and a pidfd (-1 if none)."""
        if self.cgroup is not None:
            self.cgroup.allow(memory_mb)
        request = json.dumps({"role": role, "cpu_seconds": cpu_seconds, "memory_mb": memory_mb}).encode()
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            self.control.sendmsg([request + b"\n"], beside)
        except OSError as error:
            raise ZygoteError(f"the zygote is gone: {error}") from None
        self.served += 1
        deadline = time.monotonic() + START_SECONDS
        while True:
            message = self._next_message(deadline)
            if "spawned" in message:
                return message["spawned"], self._descriptors.pop(0) if self._descriptors else -1
            if "refused" in message:
                raise ForkRefusedError(f"the zygote cannot fork: {os.strerror(message['refused'])}")
            self._note(message)

    def hear(self) -> None:
        """Read the zygote's messages; call when the control socket is readable."""
        self._receive()
        while self._messages:
            self._note(self._messages.popleft())

    def kill(self, pid: int, pidfd: int) -> None:
        try:
            if pidfd >= 0:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            else:
                self.control.send(json.dumps({"kill": pid}).encode() + b"\n")
        except ProcessLookupError:
            pass  # it has ended by itself
        except OSError as error:
            raise ZygoteError(f"a child cannot be ended: {error}") from None

    def close(self) -> None:
        """Close the control socket, which ends the zygote and its children."""
        self.control.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self.cgroup is not None:
            self.cgroup.remove()

    def ran_out_of_memory(self) -> bool:
        """Whether one of its processes was killed for lack of memory since the last call."""
        return self.cgroup is not None and self.cgroup.ran_out_of_memory()

    def _abandon(self) -> None:
        self.control.close()
        process = getattr(self, "_process", None)
        if process is not None:
            process.kill()
            process.wait()
        if self.cgroup is not None:
            self.cgroup.remove()

    def _note(self, message: dict[str, Any]) -> None:
        if "ended" in message:
            self.ended[message["ended"]] = Ended(status=message["status"], cpu_seconds=message["cpu_seconds"])
        else:
            raise ZygoteError(f"the zygote sent an unexpected message: {str(message)[:200]}")

    def _next_message(self, deadline: float) -> dict[str, Any]:
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        while not self._messages:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ZygoteError("the zygote does not answer")
            if waiting.poll(left * 1000):
                self._receive()
        return self._messages.popleft()

    def _receive(self) -> None:
        try:
            data, beside, _, _ = self.control.recvmsg(1 << 16, socket.CMSG_SPACE(16))
        except OSError as error:
            raise ZygoteError(f"the zygote is gone: {error}") from None
        if not data:
            raise ZygoteError("the zygote is gone")
        self._split(data)
        for _, _, packed in beside:
            received = array.array("i")
            received.frombytes(packed[: len(packed) - len(packed) % received.itemsize])
            for descriptor in received:
                os.set_inheritable(descriptor, False)
            self._descriptors += received

    def _split(self, data: bytes) -> None:
        """Split data into lines of JSON; a record of how a child ended always comes alone."""
        if data[0] == endings.MARK:
            pid, status, seconds = endings.read(data)
            self._messages.append({"ended": pid, "status": status, "cpu_seconds": seconds})
            return
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        self._messages += map(json.loads, lines)


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Exec, not fork: the interpreter starts with a few variables, one descriptor and none of our memory."""
    command = [interpreter(), "-s", "-S", "-B", "-P", MAIN, str(theirs.fileno())]
    return subprocess.Popen(
        command,
        env=bare_environment(**ENVIRONMENT),
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def interpreter() -> str:
    """The real interpreter: a virtual environment's link is useless where its folder is hidden."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
