"""What a run reports while it runs, and how it is stopped."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.types import Record, TaskDefinition
from assay.event_loop import is_running_here
from assay.overriding import override
from assay.processes.child import kill_every_child
from assay.text.wording import in_python

if TYPE_CHECKING:
    from pathlib import Path

    from assay.models.pool import RequestState
    from assay.run_file import RunFile

_T = TypeVar("_T")


class Progress:
    """Receives the progress of a run; this one displays nothing, and logs warnings."""

    def plan(self, run: RunFile, journal: Path | None = None) -> None:
        """What is going to run, before it begins, and the journal that holds what earlier sessions made."""

    def watch(self, state: Callable[[], RequestState | None]) -> None:
        """`state` reports how many requests are in flight."""

    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None: ...

    def records(self, records: list[Record]) -> None: ...

    def workers(self, alive: Sequence[tuple[int, int]], lost: tuple[int, int]) -> None:
        """Attempts made and failed so far: of each worker that is alive, and of all that were lost."""

    def say(self, sentence: str) -> None: ...

    def warn(self, sentence: str) -> None:
        logging.getLogger("assay").warning("%s", sentence)

    def end(self) -> None: ...


class ProgressUpdate(Struct, frozen=True, kw_only=True):
    """Progress of a run."""

    total: int
    done: int
    """Attempts made, those of earlier sessions included."""
    failed: int


class CallbackProgress(Progress):
    """Calls a function after every step."""

    def __init__(self, callback: Callable[[ProgressUpdate], object] | None) -> None:
        if callback is not None and not callable(callback):
            raise UsageError(f"progress: {in_python(callback)} is not a function that takes a `ProgressUpdate`")
        if inspect.iscoroutinefunction(callback):
            raise UsageError(
                f"progress: {in_python(callback)} is `async`, and is called without waiting for it: write `def`, and "
                "start what has to be awaited with `asyncio.create_task`"
            )
        self._callback = callback
        self._total = self._already = self._done = self._failed = 0

    @override
    def begin(self, total: int, done: int, definitions: Sequence[TaskDefinition]) -> None:
        self._total, self._already, self._done, self._failed = total, done, done, 0
        self._call()

    @override
    def records(self, records: list[Record]) -> None:
        self._done += len(records)
        self._failed += sum(record.failed for record in records)
        self._call()

    @override
    def workers(self, alive: Sequence[tuple[int, int]], lost: tuple[int, int]) -> None:
        self._done = self._already + sum(made for made, _ in (*alive, lost))
        self._failed = sum(failed for _, failed in (*alive, lost))
        self._call()

    def _call(self) -> None:
        if self._callback is not None:
            self._callback(ProgressUpdate(total=self._total, done=self._done, failed=self._failed))


def run_blocking(
    work: Coroutine[Any, Any, _T],
    run: Callable[[Coroutine[Any, Any, _T]], _T] = asyncio.run,
) -> _T:
    """Run it in an event loop of our own, where we handle signals too; in a thread if a loop is running here."""
    if is_running_here():
        return _in_a_thread(work, run)
    _loop_is_ours.set(True)
    try:
        return run(work)
    finally:
        _loop_is_ours.set(False)


def _in_a_thread(work: Coroutine[Any, Any, _T], run: Callable[[Coroutine[Any, Any, _T]], _T]) -> _T:
    """Wait for it in a notebook or an async service; an interrupt there cancels it, and it ends before we return."""
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []
    interrupted: list[BaseException] = []
    over = threading.Event()

    async def noted() -> _T:
        running.append((asyncio.get_running_loop(), asyncio.current_task()))
        if interrupted:  # before it began
            work.close()
            raise asyncio.CancelledError
        return await work

    def whole() -> _T:
        try:
            return run(noted())
        finally:
            over.set()

    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(whole).result()
        except BaseException as error:
            interrupted.append(error)
            for loop, task in running:
                if task is not None and not loop.is_closed():
                    loop.call_soon_threadsafe(task.cancel)
            if running:  # an interrupt while it was being submitted leaves the executor without its thread
                over.wait()
            raise


_loop_is_ours = ContextVar("_loop_is_ours", default=False)


class signals:  # noqa: N801 - reads as a statement: with signals(stop, progress)
    """The first Ctrl-C starts nothing new, the second gives up what is in flight; SIGTERM does the latter at once, as
    does SIGHUP, when the terminal was closed.

    A third ends the process immediately. In a loop that another program runs, signals are left to it.
    """

    def __init__(self, stop: Stop, progress: Progress) -> None:
        self._stop = stop
        self._progress = progress
        self._before: dict[int, Any] = {}
        """What was done about each signal that is ours for now."""

    def __enter__(self) -> None:
        if not _loop_is_ours.get():
            return
        self._loop = asyncio.get_running_loop()
        handled = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before: dict[int, Any] = {number: signal.getsignal(number) for number in handled}
        if before[signal.SIGHUP] is signal.SIG_IGN:
            del before[signal.SIGHUP]  # `nohup`
        try:
            # a handler of the loop for one signal, and each of them wakes it: also a loop that is just falling asleep,
            # or one whose signal another thread was given
            self._loop.add_signal_handler(signal.SIGINT, lambda: None)
        except (ValueError, RuntimeError):
            return  # not the main thread: the embedding program keeps the signals
        for number in before:
            signal.signal(number, self._handle)
        self._before = before

    def __exit__(self, *error: object) -> None:
        if self._before:
            self._loop.remove_signal_handler(signal.SIGINT)
        for number, before in self._before.items():
            signal.signal(number, before)

    def _handle(self, number: int, frame: object) -> None:
        """Counts at once; what is to be done, the loop does when it has its turn."""
        at_once = number != signal.SIGINT
        self._stop.signals += 2 if at_once else 1
        if self._stop.signals > 2 + at_once:
            kill_every_child()
            os._exit(128 + number)
        self._loop.call_soon_threadsafe(self._stop.now if at_once else self._interrupt)

    def _interrupt(self) -> None:
        if not self._stop.requested:
            self._progress.say("stopping: waiting for the answers in flight; press Ctrl-C again to abandon them")
        self._stop.request()
