"""Scoring outside the event loop, where code that never returns can be given up: in worker processes or in a thread.

One supervisor serves all scorers of a run. A few times a second, while anything is being scored, it asks each host
whose code is running there. Code that has run for longer than its time limit, or for a second after a stop of the run
was requested, is given up: a process is killed, a thread is abandoned, and every other call that was there is made
again elsewhere. Code that waits is not limited, it has limits of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from assay.core.attempt import INTERRUPTED
from assay.core.errors import FailureError
from assay.core.run import Stop
from assay.core.types import Failure, Sample, Score, Trace
from assay.processes.start import cores
from assay.scorers.hosts import IDLE, MovedScorer, ScoreCall, ScoringHost

LIMIT_SECONDS = 600.0
"""For a scorer's code without a pause, unless set otherwise."""
TICK_SECONDS, LONGEST_STEP_SECONDS = 0.25, 1.0
"""How often to look, and the most that one look adds: a process suspended for an hour has not computed for one."""
GRACE_SECONDS = 1.0
"""How long scoring may continue after a request to stop the run; after a second request it ends at once."""
WORTH_IT_SECONDS = 0.001
"""For one score. A scorer that takes less is not worth a second process."""
TIMED = 32
"""Scores that are timed before that is decided."""
MOST_DEATHS = 2
"""A sample whose scoring has crashed this many processes will crash the next one too."""


class Supervisor:
    """Sends calls to hosts, starts these when they are needed, and gives up those that do not return."""

    def __init__(self, limit_seconds: float | None = None, workers: int | None = None) -> None:
        """`workers`: processes for scorers that compute; None: one, and as many as there are CPUs for slow ones."""
        self.workers = workers
        self._limit = limit_seconds or LIMIT_SECONDS
        self._tick = min(TICK_SECONDS, self._limit / 4)
        self.most = max(1, cores() if workers is None else workers)
        self._slow = workers is not None  # a number set by the user is always used
        self._seconds, self._timed = 0.0, 0
        self._stop: Stop | None = None
        self._say: Callable[[str], None] = lambda sentence: None
        self._issued = 0
        self.processes: list[ScoringHost] = []
        self._thread: ScoringHost | None = None
        self._no_processes: str | None = None
        """Why this machine has no scoring processes."""
        self._to_send: list[ScoringHost] = []
        self._looking: asyncio.TimerHandle | None = None
        self._looked = 0.0

    def bind(self, stop: Stop, say: Callable[[str], None]) -> None:
        """From now on scoring ends when the run is stopped, and `say` hears what the user should know."""
        self._stop, self._say = stop, say

    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the run."""
        return self._loop

    async def score(self, moved: MovedScorer, sample: Sample, trace: Trace, *, in_thread: bool = False) -> Score:
        """The score, or a `FailureError`: also for a scorer that never returns."""
        self._loop = asyncio.get_running_loop()
        self._issued += 1
        call = ScoreCall(self._issued, moved, sample, trace, self._loop.create_future())
        self._send(call, in_thread)
        return await call.answer

    async def aclose(self) -> None:
        hosts = [*self.processes, *([self._thread] if self._thread is not None else [])]
        self.processes, self._thread = [], None
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        await asyncio.gather(*(host.aclose() for host in hosts))

    # -- what hosts report ------------------------------------------------------------------------------------------

    def answered(self, host: ScoringHost, number: int, outcome: Score | Failure) -> None:
        host.has_answered = True
        call = host.calls.pop(number, None)
        if call is None or call.answer.done():
            return  # it was given up, or its caller has stopped waiting
        if isinstance(outcome, Failure):
            call.answer.set_exception(FailureError(outcome))
        else:
            call.answer.set_result(outcome)

    def timed(self, seconds: float, scores: int) -> None:
        if not self._slow:
            self._seconds, self._timed = self._seconds + seconds, self._timed + scores
            self._slow = self._timed >= TIMED and self._seconds / self._timed >= WORTH_IT_SECONDS

    def cannot_move(self, moved: MovedScorer, why: str) -> None:
        if moved.importable:
            moved.importable = False
            self._say(f"`{moved.part.key}` scores in a thread, which cannot be ended if it never returns: {why}")

    def returned(self, host: ScoringHost, number: int) -> None:
        if (call := host.calls.pop(number, None)) is not None:
            self._send(call, in_thread=True)

    def died(self, host: ScoringHost, how: str) -> None:
        """Retry the call that a process died of, a limited number of times; the others had no part in it."""
        if host not in self.processes:
            return  # it was given up
        self.processes.remove(host)
        at = host.position().number
        if at <= 0 and not host.has_answered:
            self._no_processes = f"a scoring process {how} before it had scored anything"
        for call in [*host.calls.values()]:
            call.deaths += at <= 0 or at == call.number
            if call.deaths > MOST_DEATHS:
                message = f"scoring this sample crashes the scoring process, which {how}"
                self.answered(host, call.number, _failure(call, "crashed", message))
        self._send_again(host)

    # -- sending ----------------------------------------------------------------------------------------------------

    def _send(self, call: ScoreCall, in_thread: bool) -> None:
        host = self._host_for(call.moved, in_thread)
        host.calls[call.number] = call
        if not host.unsent:
            if not self._to_send:
                # together with all that other attempts have to be scored in this turn of the loop
                self._loop.call_soon(self._send_all)
            self._to_send.append(host)
        host.unsent.append(call)

    def _send_all(self) -> None:
        hosts, self._to_send = self._to_send, []
        for host in hosts:
            calls, host.unsent = host.unsent, []
            if calls:
                host.send(calls)
        if self._looking is None:
            self._looked = monotonic()
            self._looking = self._loop.call_later(self._tick, self._look)

    def _send_again(self, host: ScoringHost, *, in_thread: bool = False) -> None:
        calls, host.calls, host.unsent = host.calls, {}, []
        for call in calls.values():
            if not call.answer.done():
                self._send(call, in_thread)

    def _host_for(self, moved: MovedScorer, in_thread: bool) -> ScoringHost:
        if moved.importable and not in_thread:
            if self._no_processes is None:
                try:
                    return self._process_for(moved)
                except OSError as error:
                    self._no_processes = f"no scoring process can be started: {error.strerror}"
            self.cannot_move(moved, self._no_processes)
        if self._thread is None:
            from assay.scorers.thread_host import ThreadHost

            self._thread = ThreadHost(self)
        return self._thread

    def _process_for(self, moved: MovedScorer) -> ScoringHost:
        """The one with the fewest calls; but always the first for a scorer that may keep something open."""
        if self.processes and not moved.computes:
            return self.processes[0]
        free = min(self.processes, key=lambda host: len(host.calls), default=None)
        if free is None or (free.calls and self._slow and len(self.processes) < self.most):
            from assay.scorers.process_host import ProcessHost  # most runs need neither

            free = ProcessHost(self)
            self.processes.append(free)
        return free

    # -- looking ----------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        now = monotonic()
        seconds, self._looked = min(now - self._looked, LONGEST_STEP_SECONDS), now
        hosts = [*self.processes, *([self._thread] if self._thread is not None else [])]
        for host in hosts:
            if (reason := self._why_to_end(host, seconds)) is not None:
                self._end(host, *reason)
        busy = any(host.calls for host in hosts) or self._to_send
        self._looking = self._loop.call_later(self._tick, self._look) if busy else None

    def _why_to_end(self, host: ScoringHost, seconds: float) -> tuple[str, str] | None:
        """The kind and message of the failure to make of the call that blocks this host."""
        position = host.position()
        if position == IDLE or position != host.seen:
            host.seen = position
            host.blocked_seconds = host.ending_seconds = 0.0
            return None
        requests = 0 if self._stop is None else self._stop.signals
        host.blocked_seconds += seconds
        host.ending_seconds += seconds if requests else 0.0
        if host.ending_seconds >= GRACE_SECONDS or (requests > 1 and host.ending_seconds):
            return INTERRUPTED, "cancelled: the run is stopping"
        if host.blocked_seconds >= self._limit:
            return "timeout", f"took more than {self._limit:g} s to score (--timeout)"
        return None

    def _end(self, host: ScoringHost, kind: str, message: str) -> None:
        at = host.position().number
        is_thread = host is self._thread
        if is_thread:
            self._thread = None
        else:
            self.processes.remove(host)
        if at < 0:
            self._no_processes = "a scoring process does not get to the end of importing it"
        message += host.give_up()
        for call in [*host.calls.values()]:
            if call.number == at or kind == INTERRUPTED:
                self.answered(host, call.number, _failure(call, kind, message))
        self._send_again(host, in_thread=is_thread)


def _failure(call: ScoreCall, kind: str, message: str) -> Failure:
    return Failure(stage="scorer", part=call.moved.part.key, kind=kind, message=message)
