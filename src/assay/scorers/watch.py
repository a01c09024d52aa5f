"""The watch over scoring: a scorer's own code runs in the event loop, where nothing else could end it.

A few times a second a signal's handler looks whether the loop's thread is inside the scoring of an attempt. When that
has blocked the loop for longer than its time limit, or for a second after a stop of the run was requested, the handler
raises `OutOfTimeError` right there, in the scorer's code. Attempts pay nothing for it: no flag is set and no clock is
read. Code that waits is not watched, it has limits of its own.

Two things send the signals: a timer of CPU time, for code that computes (regular expressions too, which hold up every
other thread), and a thread, for code that blocks. Neither is SIGALRM, which graders use for limits of their own.
Handlers run in the main thread only; a run in another thread gets a warning about code that cannot be ended, and C code
that never checks for signals is ended only by Ctrl-\\ (SIGQUIT).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from types import CodeType, FrameType

from assay.core.attempt import overdue, score_trace
from assay.core.errors import OutOfTimeError
from assay.core.run import Stop

LIMIT_SECONDS = 600.0
"""For the scorers of one attempt, unless set otherwise."""
TICK_SECONDS, LONGEST_STEP_SECONDS = 0.25, 1.0
"""How often to look, and the most that one look adds: a process suspended for an hour has not computed for one."""
GRACE_SECONDS = 1.0
"""How long scoring may continue after a request to stop the run; after a second request it ends at once."""
STUBBORN_SECONDS = 5.0
"""Code that swallows every exception for this long ends its process; after a second stop request, a fifth of it."""


class Watch:
    """`with Watch(limit, stop):` around what scores, in the loop's thread.

    Without a `stop`, cancelling the current task asks it to stop, as Ctrl-C does to the one that `asyncio.run`
    runs.
    """

    def __init__(
        self,
        limit_seconds: float | None,
        stop: Stop | None = None,
        say: Callable[[str], None] = lambda sentence: None,
        scoring: CodeType = score_trace.__code__,
    ) -> None:
        self._limit = LIMIT_SECONDS if limit_seconds is None else limit_seconds
        self._stop, self._say, self._code = stop, say, scoring
        self._over = threading.Event()
        self._seen: FrameType | None = None
        """The scoring of one attempt that blocks the loop."""
        self._looked = self._seconds = self._ending_seconds = self._stubborn_seconds = 0.0

    def __enter__(self) -> None:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._task = asyncio.current_task()
        self._can_raise = threading.current_thread() is threading.main_thread() and hasattr(signal, "pthread_kill")
        if self._can_raise:
            _signals.send_to(self._look)
        self._ticking = threading.Thread(target=self._tick, name="watch over scoring", daemon=True)
        self._ticking.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._ticking.join()
        if self._can_raise:
            _signals.leave_out(self._look)
        self._seen = None
        overdue.clear()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            frame = sys._current_frames().get(self._thread)
            if self._scoring(frame) is None:
                continue
            if self._can_raise:
                signal.pthread_kill(self._thread, signal.SIGURG)
            elif (reason := self._why_to_end(frame)) is not None and not self._stubborn_seconds:
                self._stubborn_seconds = TICK_SECONDS
                self._say(f"scoring {reason}; it cannot be ended, since the run is not in the main thread")

    def _look(self, frame: FrameType | None) -> None:
        """Called at every signal."""
        reason = self._why_to_end(frame)
        if reason is None or self._seen is None:
            return
        if self._stubborn_seconds > STUBBORN_SECONDS / (5 if self._stop_requests() > 1 else 1):
            self._end_process()
        self._stubborn_seconds += TICK_SECONDS
        overdue[id(self._seen.f_locals["trace"])] = reason
        raise reason

    def _why_to_end(self, frame: FrameType | None) -> OutOfTimeError | None:
        scoring, now = self._scoring(frame), monotonic()
        step, self._looked = min(now - self._looked, LONGEST_STEP_SECONDS), now
        if scoring is None or scoring is not self._seen:
            self._seen = scoring
            self._seconds = self._ending_seconds = self._stubborn_seconds = step = 0.0
        if scoring is not None:
            self._loop.call_soon_threadsafe(self._forget)
        stop_requests = self._stop_requests()
        self._seconds += step
        self._ending_seconds += step if stop_requests else 0.0
        if self._ending_seconds >= GRACE_SECONDS or (stop_requests > 1 and self._ending_seconds):
            return OutOfTimeError("interrupted", "cancelled: the run is stopping")
        if self._seconds >= self._limit:
            return OutOfTimeError("timeout", f"took more than {self._limit:g} s to score (--timeout)")
        return None

    def _stop_requests(self) -> int:
        """How often a stop of the watched task was requested."""
        if self._stop is not None:
            return self._stop.signals
        return 0 if self._task is None else self._task.cancelling()

    def _scoring(self, frame: FrameType | None) -> FrameType | None:
        """The call that scores an attempt, if this is inside one."""
        while frame is not None and frame.f_code is not self._code:
            frame = frame.f_back
        return frame

    def _forget(self) -> None:
        """The loop runs again: the code seen last has ended, or waits."""
        self._seen = None

    def _end_process(self) -> None:
        print(
            "error: a scorer never returns and swallows the exception that should stop it (a bare `except:`?), "
            "so the process ends. Nothing finished is lost: rerun the same command to resume.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(130 if self._stop_requests() else 3)


class _Signals:
    """The signals and their timer, shared between runs in one loop, any of which may end first."""

    def __init__(self) -> None:
        self._looks: list[Callable[[FrameType | None], None]] = []

    def send_to(self, look: Callable[[FrameType | None], None]) -> None:
        if not self._looks:
            self._before = [
                (number, signal.signal(number, self._handle)) for number in (signal.SIGURG, signal.SIGVTALRM)
            ]
            self._timer_before = signal.setitimer(signal.ITIMER_VIRTUAL, TICK_SECONDS, TICK_SECONDS)
        self._looks.append(look)

    def leave_out(self, look: Callable[[FrameType | None], None]) -> None:
        self._looks.remove(look)
        if not self._looks:
            signal.setitimer(signal.ITIMER_VIRTUAL, *self._timer_before)
            for number, handler in self._before:
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        for look in tuple(self._looks):
            look(frame)


_signals = _Signals()
