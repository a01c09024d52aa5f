"""A thread in which scorers run that exist in this process only: a function passed from Python, say.

Nothing can end a thread. One whose code never returns is abandoned: its answers are ignored, and it dies with
this process. While it computes, it shares the interpreter with everything else.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from threading import Thread

from assay.core.model_stack import Wrapper, not_sent
from assay.core.seams import Model, Scorer, close_part
from assay.core.types import Completion, Failure, Request, Score
from assay.overriding import override
from assay.scorers.calls import score_in_steps, score_now
from assay.scorers.hosts import IDLE, HearsHosts, RunningCode, ScoreCall, ScoringHost

CLOSING_SECONDS = 5.0


class ThreadHost(ScoringHost):
    """An event loop of its own, for scorers that wait for something too."""

    def __init__(self, reports: HearsHosts) -> None:
        super().__init__()
        self._reports = reports
        self._loop_of_run = asyncio.get_running_loop()
        self._position = IDLE
        self._given_up = False
        self._scorers: dict[int, Scorer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._made: deque[tuple[int, Score | Failure]] = deque()
        self._is_delivering = False
        self._loop = asyncio.new_event_loop()
        Thread(target=self._run, name="scoring", daemon=True).start()

    @override
    def send(self, calls: list[ScoreCall]) -> None:
        for call in calls:
            call.moved.was_in_thread = True
        self._loop.call_soon_threadsafe(self._make, calls)

    @override
    def position(self) -> RunningCode:
        return self._position

    @override
    def give_up(self) -> str:
        self._given_up = True
        self._loop.call_soon_threadsafe(self._loop.stop)  # should it ever return
        return "; it runs in a thread, which cannot be ended"

    @override
    async def aclose(self) -> None:
        closing = asyncio.run_coroutine_threadsafe(self._close_scorers(), self._loop)
        await asyncio.wait([asyncio.wrap_future(closing)], timeout=CLOSING_SECONDS)
        self.give_up()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for task in self._tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
            self._loop.close()

    async def _close_scorers(self) -> None:
        for scorer in self._scorers.values():
            await close_part(scorer)

    def _make(self, calls: list[ScoreCall]) -> None:
        for call in calls:
            if self._given_up:
                return
            scorer = self._scorers[id(call.moved)] = call.moved.scorer
            outcome = None
            if call.moved.computes:
                self._mark(call.number, 1)
                outcome = score_now(scorer, call.sample, call.trace)
                self._mark(0, 0)
            if outcome is not None:
                self._answer(call.number, outcome)
            else:
                task = self._loop.create_task(self._make_in_steps(call), context=call.context)
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _make_in_steps(self, call: ScoreCall) -> None:
        outcome = await score_in_steps(call.moved.scorer, call.sample, call.trace, call.number, self._mark)
        self._answer(call.number, outcome)

    def _mark(self, number: int, step: int) -> None:
        self._position = RunningCode(number, step)

    def _answer(self, number: int, outcome: Score | Failure) -> None:
        self._made.append((number, outcome))
        if not self._is_delivering and not self._given_up:
            self._is_delivering = True
            self._loop_of_run.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_delivering = False
        while self._made:
            self._reports.answered(self, *self._made.popleft())


class FromAnyLoop(Wrapper):
    """A model as it is given to a scorer that may run in another loop: every request is made in the run's."""

    def __init__(self, model: Model, loop_of_run: Callable[[], asyncio.AbstractEventLoop]) -> None:
        super().__init__(model)
        self._loop_of_run = loop_of_run

    @override
    async def generate(self, request: Request) -> Completion:
        loop = self._loop_of_run()
        if asyncio.get_running_loop() is loop:
            return await self.model.generate(request)
        if loop.is_closed():
            raise not_sent(self.name)  # the thread was abandoned, and the run has ended
        asked = asyncio.run_coroutine_threadsafe(self.model.generate(request), loop)
        return await asyncio.wrap_future(asked)
