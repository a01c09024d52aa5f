"""One program's processes: their pipes, their limits and their end, in one poll loop that cannot be stalled."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from typing import Any, Literal

import msgspec

from assay.sandbox.inside.frames import MAX_FRAME, SETUP_FAILED
from assay.sandbox.programs import Limits, OutcomeName
from assay.sandbox.zygote import Ended, ForkRefusedError, SetupError, Zygote, ZygoteError

POLL_SECONDS = 0.05
"""How often CPU time is checked, and so how far a limit may be exceeded."""
READ_BYTES = 1 << 16
MAX_REPLIES = 32 << 20
"""Bytes that one child may send in total: reading them costs the harness time."""

StopReason = Literal["cpu", "wall", "memory", "stdout", "stderr", "frame", "replies"]


class CancelledRunError(Exception):
    """The outcome is no longer wanted."""


class ExhaustedError(Exception):
    """A program has reached its limits at the expense of the processes that judge it."""

    def __init__(self, outcome: OutcomeName, detail: str) -> None:
        super().__init__(detail)
        self.outcome, self.detail = outcome, detail


class SandboxChild:
    """A candidate or a verifier, seen from the harness."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.pid = 0
        self.pidfd = -1
        self.host_pid: int | None = None
        self.replies = bytearray()
        self.reply_bytes = 0
        self.output = {"stdout": bytearray(), "stderr": bytearray()}
        self.to_send = {"requests": memoryview(b""), "stdin": memoryview(b"")}
        self.pipes: dict[str, int] = {}
        """Our ends: stdin, stdout, stderr, requests, replies; closed ones are removed."""
        self.stopped: StopReason | None = None
        """The limit because of which we ended it."""
        self.ended: Ended | None = None
        self.ready = False
        self.bad_frame = False


class Session:
    """The processes of one program; leaving the context ends them."""

    def __init__(self, zygote: Zygote, limits: Limits, wake: int) -> None:
        self.zygote = zygote
        self.limits = limits
        self.wake = wake
        self.children: list[SandboxChild] = []
        self.started = time.monotonic()
        self.deadline = self.started + limits.wall()
        self.poll = select.poll()
        self.poll.register(zygote.control, select.POLLIN)
        self.poll.register(wake, select.POLLIN)
        self.owner: dict[int, tuple[SandboxChild, str]] = {}
        self.exposed = False
        """A candidate has received its source: from now on it may have caused what breaks."""

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for child in self.children:
                self.end(child)
        finally:
            for child in self.children:
                self._close_all(child)

    def start(self, role: str, stdin: bytes | None = None, cpu_seconds: float | None = None) -> SandboxChild:
        """Fork a child and connect to it; without `stdin` it reads from the null device."""
        child = SandboxChild(role)
        theirs: list[int] = []
        names = ["stdout", "stderr", "requests", "replies"]
        if stdin is not None:
            names.insert(0, "stdin")
            child.to_send["stdin"] = memoryview(stdin)
        try:
            for name in names:
                inward, outward = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
                our_end, their_end = (outward, inward) if name in ("stdin", "requests") else (inward, outward)
                os.set_blocking(our_end, False)
                child.pipes[name] = our_end
                theirs.append(their_end)
            self.children.append(child)
            budget = cpu_seconds if cpu_seconds is not None else self.limits.cpu_seconds
            child.pid, child.pidfd = self.zygote.spawn(
                role, theirs, cpu_seconds=budget, memory_mb=self.limits.memory_mb
            )
        except ForkRefusedError:
            if len(self.children) > 1 and self.zygote.cgroup is not None and self.zygote.cgroup.is_full():
                raise ExhaustedError("runtime_error", "so many threads that its test could not be started") from None
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        for name, descriptor in child.pipes.items():
            self.owner[descriptor] = (child, name)
            if name in child.output or name == "replies":
                self.poll.register(descriptor, select.POLLIN)
        if stdin is not None:
            self._write(child, "stdin")
        return child

    def send(self, child: SandboxChild, message: dict[str, Any]) -> None:
        data = msgspec.json.encode(message)
        self.exposed |= child.role == "candidate"
        if "requests" in child.pipes:
            child.to_send["requests"] = memoryview(struct.pack("<I", len(data)) + data)
            self._write(child, "requests")

    def receive(self, child: SandboxChild) -> dict[str, Any] | None:
        """The child's next frame; None when it ended, was stopped, or sent an invalid frame."""
        while True:
            frame = self._take_frame(child)
            if frame is not None or child.bad_frame:
                return frame
            if child.ended is not None or child.stopped is not None:
                return None
            self._step()

    def wait(self, child: SandboxChild) -> None:
        """Wait until the child has ended by itself or been stopped, with all its output read."""
        while child.ended is None and child.stopped is None:
            self._step()

    def end(self, child: SandboxChild) -> None:
        """Kill the child if it still runs, wait for its exit status, and read what it left in the pipes."""
        if child.ended is not None or child.pid == 0:
            return
        self.zygote.kill(child.pid, child.pidfd)
        patience = time.monotonic() + 30
        while child.ended is None:
            if time.monotonic() > patience:
                raise ZygoteError("a killed child does not end")
            self._step(ending=True)

    def check_setup(self, child: SandboxChild) -> None:
        """A child that ended before it was ready is the sandbox's fault, not the candidate's.

        Unless it is a verifier that was killed: the candidate may have used up the resources that they share.
        """
        if not child.ready:
            stderr = bytes(child.output["stderr"][:300]).decode("utf-8", "replace").strip()
            status = child.ended.status if child.ended else None
            code = os.waitstatus_to_exitcode(status) if status is not None else None
            ending = "setup failed" if code == SETUP_FAILED else f"ended with {code} before it was ready"
            killed = child.role == "verifier" and code is not None and code < 0
            raise (ZygoteError if killed else SetupError)(f"{child.role}: {ending}: {stderr}")

    def _step(self, ending: bool = False) -> None:
        """Wait a moment for an event, then enforce the limits."""
        events = self.poll.poll(self._patience(ending) * 1000)
        for descriptor, _ in events:
            if descriptor == self.zygote.control.fileno():
                self.zygote.hear()
            elif descriptor == self.wake:
                if not ending:
                    raise CancelledRunError
                self.poll.unregister(self.wake)
            elif descriptor in self.owner:
                self._serve(*self.owner[descriptor])
        self._note_ended()
        if not ending:
            self._enforce()

    def _patience(self, ending: bool) -> float:
        if ending:
            return 1.0
        return max(0.0, min(POLL_SECONDS, self.deadline - time.monotonic()))

    def _serve(self, child: SandboxChild, name: str) -> None:
        if name in ("requests", "stdin"):
            self._write(child, name)
        else:
            self._read(child, name)

    def _read(self, child: SandboxChild, name: str) -> bool:
        """Read once from a pipe; False when there is nothing to read now, or the pipe is closed."""
        descriptor = child.pipes.get(name)
        if descriptor is None:
            return False
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close(child, name)
            return False
        if name == "replies":
            child.replies += data
            child.reply_bytes += len(data)
            if len(child.replies) > 2 * MAX_FRAME + 64:
                self._stop(child, "frame")
            elif child.reply_bytes > MAX_REPLIES:
                self._stop(child, "replies")
        elif len(child.output[name]) < self.limits.output_bytes:
            child.output[name] += data
        if name in child.output and len(child.output[name]) >= self.limits.output_bytes:
            self._stop(child, "stdout" if name == "stdout" else "stderr")
        return child.stopped is None

    def _write(self, child: SandboxChild, name: str) -> None:
        descriptor = child.pipes.get(name)
        if descriptor is None:
            return
        try:
            while child.to_send[name]:
                sent = os.write(descriptor, child.to_send[name][:READ_BYTES])
                child.to_send[name] = child.to_send[name][sent:]
        except BlockingIOError:
            self.poll.register(descriptor, select.POLLOUT)
            return
        except OSError:
            self._close(child, name)
            return
        if name == "stdin":
            self._close(child, name)
        else:
            self._forget(descriptor)

    def _take_frame(self, child: SandboxChild) -> dict[str, Any] | None:
        """The next whole frame in the buffer; `ready` is recorded and skipped."""
        while len(child.replies) >= 4:
            (length,) = struct.unpack_from("<I", child.replies)
            if length > MAX_FRAME:
                child.bad_frame = True
                return None
            if len(child.replies) < 4 + length:
                return None
            data = bytes(child.replies[4 : 4 + length])
            del child.replies[: 4 + length]
            frame = _decode(data)
            if frame is None:
                child.bad_frame = True
                return None
            if not child.ready and frame == {"id": "ready"}:
                child.ready = True
                continue
            return frame
        return None

    def _note_ended(self) -> None:
        for child in self.children:
            if child.ended is None and child.pid in self.zygote.ended:
                ended = self.zygote.ended.pop(child.pid)
                if ended.status & 0x7F == signal.SIGKILL and self.zygote.ran_out_of_memory():
                    child.stopped = child.stopped or "memory"
                for name in ("replies", "stdout", "stderr"):
                    while self._read(child, name):
                        pass
                child.ended = ended

    def _enforce(self) -> None:
        now = time.monotonic()
        for child in self.children:
            if child.ended is not None or child.stopped is not None:
                continue
            if now >= self.deadline:
                self._stop(child, "wall")
            elif now - self.started >= POLL_SECONDS:
                self._check_usage(child)

    def _check_usage(self, child: SandboxChild) -> None:
        seconds, memory = self._usage(child)
        budget = self.limits.cpu_seconds if child.role == "candidate" else 2 * self.limits.cpu_seconds + 1
        if seconds is not None and seconds > budget:
            self._stop(child, "cpu")
        elif memory is not None and memory > self.limits.memory_mb << 20:
            self._stop(child, "memory")

    def _usage(self, child: SandboxChild) -> tuple[float | None, int | None]:
        if sys.platform == "darwin":
            from assay.sandbox.macos import usage

            measured = usage(child.pid)
            return measured if measured is not None else (None, None)
        if child.host_pid is None:
            child.host_pid = _pid_of(child.pidfd)
        if child.host_pid <= 0:
            return None, None
        try:
            # the clock of another process, with the id that clock_getcpuclockid(3) computes
            return time.clock_gettime((~child.host_pid << 3) | 2), None
        except OSError:
            return None, None

    def _stop(self, child: SandboxChild, reason: StopReason) -> None:
        if child.stopped is None:
            child.stopped = reason
            self.zygote.kill(child.pid, child.pidfd)

    def _forget(self, descriptor: int) -> None:
        try:
            self.poll.unregister(descriptor)
        except KeyError:
            pass  # it was not registered

    def _close(self, child: SandboxChild, name: str) -> None:
        descriptor = child.pipes.pop(name, None)
        if descriptor is not None:
            self._forget(descriptor)
            self.owner.pop(descriptor, None)
            os.close(descriptor)

    def _close_all(self, child: SandboxChild) -> None:
        for name in list(child.pipes):
            self._close(child, name)
        if child.pidfd >= 0:
            os.close(child.pidfd)
            child.pidfd = -1


def _decode(data: bytes) -> dict[str, Any] | None:
    try:
        frame = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return frame if isinstance(frame, dict) else None


def _pid_of(pidfd: int) -> int:
    """The process id behind a pidfd, in our own namespace."""
    try:
        with open(f"/proc/self/fdinfo/{pidfd}") as info:
            for line in info:
                if line.startswith("Pid:"):
                    return int(line.split()[1])
    except (OSError, ValueError):
        return -1
    return -1
