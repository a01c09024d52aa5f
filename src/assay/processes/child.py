"""A running program as an event loop sees it: its output as it comes, how it ended, and one way to end it.

The loop watches the pipes and the process itself; `asyncio`'s own watcher is not used: it would lose the exit status
whenever other code waits for the program first.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, cast
from weakref import WeakMethod

from assay.processes.orphans import end_orphans, marked
from assay.processes.start import Process, Stderr, close_pipes, kill_group, start
from assay.processes.watcher import watcher

GRACE_SECONDS = 1.0
"""How long a program may take to end once it was signalled, and its pipes to close once it has ended."""
LONGEST_LINE_BYTES = 1 << 30
STDERR_TAIL_BYTES = 2000
_READ_BYTES = 1 << 18


class Child:
    """A program that leads a process group, which is killed as a whole: when it is ended, and after it has ended.

    What it has put into sessions of their own is then ended too.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        on_line: OnLine | None = None,
        max_bytes: int = LONGEST_LINE_BYTES,
        cwd: Path | None = None,
        stderr: Stderr = "read",
        max_stderr_bytes: int = STDERR_TAIL_BYTES,
        ends_with_us: bool = False,
        inherits: Sequence[int] = (),
    ) -> None:
        """Its output goes to `on_line` line by line, or is kept; a line, or all that is kept, may have `max_bytes`.

        With `ends_with_us` it and what it starts do not outlive this process, even one that is killed:
        for programs that do not notice that their input has ended, or that may start others.
        """
        self._loop = asyncio.get_running_loop()
        env, self._mark = marked(env)
        try:
            if ends_with_us:
                watcher.add(self._mark)
            self._process = start(command, env=env, cwd=cwd, stderr=stderr, inherits=inherits)
        except BaseException:
            watcher.remove(self._mark)
            raise
        if ends_with_us:
            watcher.set_leader(self._mark, self._process.pid)
        _alive[self._process.pid] = self._mark
        self._starter = os.getpid()
        self._pidfd: int | None = None
        self._on_line = on_line
        self._max_bytes = max_bytes
        self._max_stderr_bytes = max_stderr_bytes
        self._unwritten = bytearray()
        self._input_ends = False
        self._closing_pipes: asyncio.TimerHandle | None = None
        self.pid = self._process.pid
        self.output = bytearray()
        """What it wrote and no line has taken: everything where there is no `on_line`."""
        self.stderr = bytearray()
        """The end of what it wrote there."""
        self.overflow = False
        """It wrote more than it may, and was killed."""
        self.status: int | None = None
        """Negative: the signal that ended it."""
        self.closed: asyncio.Future[None] = self._loop.create_future()
        """Done when it has ended and all it wrote was taken."""
        self._input = cast("IO[bytes]", self._process.stdin)
        os.set_blocking(self._input.fileno(), False)
        self._unread = {pipe for pipe in (self._process.stdout, self._process.stderr) if pipe is not None}
        for pipe in self._unread:
            take = self._take_stderr if pipe is self._process.stderr else self._take_output
            os.set_blocking(pipe.fileno(), False)
            self._loop.add_reader(pipe.fileno(), self._read, pipe, take)
        self._watch()

    @property
    def has_ended(self) -> bool:
        return self.status is not None or self.overflow

    @property
    def is_ours(self) -> bool:
        """Whether the running loop is the one that watches it."""
        return self._loop is asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Now, as far as the pipe takes it, and the rest when it does; lost when the program reads no more."""
        if self._unwritten:
            self._unwritten += data
        elif not self._input.closed:
            self._unwritten += data[self._written(data) :]
            if self._unwritten:
                self._loop.add_writer(self._input.fileno(), self._write_on)

    def end_input(self) -> None:
        self._input_ends = True
        if not self._unwritten:
            self._close_input()

    def kill(self) -> None:
        if self._process.returncode is None:  # or its number may be another's by now
            kill_group(self.pid)

    async def end(self, grace_seconds: float = 0.0) -> None:
        """Nothing of it is left when this returns, nor when it is cancelled."""
        if not self.is_ours:
            self._end_unwatched()
            return
        try:
            if grace_seconds and not self.closed.done():
                self.end_input()
                await asyncio.wait([self.closed], timeout=grace_seconds)
            self.kill()
            if not self.closed.done():
                await asyncio.wait([self.closed], timeout=GRACE_SECONDS)
        finally:
            self.kill()
            self._close_pipes()

    def __del__(self) -> None:
        if getattr(self, "pid", None) is not None and self._starter == os.getpid():
            self._end_unwatched()

    def _end_unwatched(self) -> None:
        """Without its loop, which may have been closed before it had ended; another's loop does the rest itself."""
        self.kill()
        if self._loop.is_closed():
            self.status = self._process.wait()
            self._end_orphans()
            close_pipes(self._process)
            self._forget_pidfd()

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # elsewhere than on Linux
            watching = (self._process, self._loop, WeakMethod(self._exited))
            threading.Thread(target=_wait, args=watching, daemon=True).start()
        else:
            self._loop.add_reader(self._pidfd, self._exited)

    def _exited(self) -> None:
        kill_group(self.pid)  # what it left running would hold its pipes open
        self._forget_pidfd()
        self.status = self._process.wait()
        self._end_orphans()
        self._close_input()
        if self._unread:
            self._closing_pipes = self._loop.call_later(GRACE_SECONDS, self._close_pipes)
        self._close_when_over()

    def _end_orphans(self) -> None:
        if _alive.pop(self.pid, None) is not None:
            end_orphans(self.pid, self._mark)
            watcher.remove(self._mark)

    def _forget_pidfd(self) -> None:
        if self._pidfd is not None:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _close_when_over(self) -> None:
        if self._unread or self.status is None or self.closed.done():
            return
        if self._closing_pipes is not None:
            self._closing_pipes.cancel()
        if self._on_line is not None and self.output and not self.overflow:
            self._on_line(self, bytes(self.output))
        self.closed.set_result(None)

    def _read(self, pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
        try:
            data = os.read(pipe.fileno(), _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            take(data)
        else:
            self._close(pipe)

    def _take_output(self, data: bytes) -> None:
        if self.overflow:
            return
        if self._on_line is None or b"\n" not in data:
            self.output += data
        else:
            *lines, rest = (bytes(self.output) + data).split(b"\n")
            self.output = bytearray(rest)
            for line in lines:
                if len(line) > self._max_bytes:
                    self._overflows()
                    return
                if line and not line.isspace():
                    self._on_line(self, line)
        if len(self.output) > self._max_bytes:
            self._overflows()

    def _overflows(self) -> None:
        self.overflow = True
        self.output.clear()
        self.kill()

    def _take_stderr(self, data: bytes) -> None:
        self.stderr += data
        del self.stderr[: -self._max_stderr_bytes]

    def _written(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._input.fileno(), data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            self._close_input()
            return len(data)

    def _write_on(self) -> None:
        del self._unwritten[: self._written(self._unwritten)]
        if not self._unwritten and not self._input.closed:
            self._loop.remove_writer(self._input.fileno())
            if self._input_ends:
                self._close_input()

    def _close_input(self) -> None:
        if not self._input.closed:
            self._loop.remove_writer(self._input.fileno())
            self._unwritten.clear()
            self._input.close()

    def _close_pipes(self) -> None:
        self._close_input()
        for pipe in [*self._unread]:
            self._close(pipe)

    def _close(self, pipe: IO[bytes]) -> None:
        self._loop.remove_reader(pipe.fileno())
        pipe.close()
        self._unread.discard(pipe)
        self._close_when_over()


OnLine = Callable[[Child, bytes], None]

_alive: dict[int, str] = {}
"""Every program that was started and has not ended, with its mark."""
os.register_at_fork(after_in_child=_alive.clear)  # they are not the copy's to kill


def kill_every_child() -> None:
    """For a process that ends there and then, without a turn of its loop."""
    for pid, mark in list(_alive.items()):
        kill_group(pid)
        end_orphans(pid, mark)


def last_words(stderr: bytes | bytearray) -> str:
    """The end of what a program wrote to standard error, as a clause; empty when it wrote nothing."""
    tail = stderr.decode("utf-8", "replace").strip()[-600:]
    return f"; the end of its standard error: {tail}" if tail else ""


def _wait(process: Process, loop: asyncio.AbstractEventLoop, exited: WeakMethod[Callable[[], None]]) -> None:
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its number stays its own until it is reaped
    except ChildProcessError:  # it has been ended without its loop
        return
    except AttributeError:  # macOS before Python 3.13
        process.wait()
    try:
        if (tell := exited()) is not None:
            loop.call_soon_threadsafe(tell)
    except RuntimeError:
        pass  # the loop was closed: nothing waits for it
