"""Scorers that need much CPU are moved to processes of their own, once they have shown that they do.

The first scores are made here and timed. A scorer that takes more than a millisecond would hold up every answer that
comes in meanwhile, and uses one core of many; from then on lists of samples go to processes that build the same scorer
from its name and options. Scores and failures are the same either way, and a process that dies only costs time.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import deque
from statistics import median
from time import thread_time
from typing import NamedTuple

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import Scorer
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.processes.environment import worker_environment
from assay.scorers.watch import LIMIT_SECONDS
from assay.scorers.worker_process import Answer, Order, Question

WORTH_IT_SECONDS = 0.001
"""Of CPU for one score. Below, handing it over costs more than it saves."""
TIMED = 32
"""Scores made here before that is decided."""
LONGEST_LIST = 64
LAST_RESORT_SECONDS = 60.0
MOST_DEATHS = 2
"""A sample that, alone, has ended so many processes will end the next one too."""


def in_processes(scorer: Scorer, part: PartSpec, workers: int | None, limit_seconds: float | None = None) -> Scorer:
    """The scorer, moved to processes if it only computes and turns out to be slow. None: as many as there are CPUs."""
    places = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = (places if places > 1 else 0) if workers is None else workers
    if not count or not getattr(scorer, "only_computes", False):
        return scorer
    # a number that was asked for is meant; otherwise it has to pay
    worth_it = WORTH_IT_SECONDS if workers is None else 0.0
    return MayMove(scorer, part, count, worth_it_seconds=worth_it, limit_seconds=limit_seconds or LIMIT_SECONDS)


class CannotMoveError(Exception):
    """The scorer cannot be built in another process: what it is made of is found only in this one."""


class MayMove:
    """A scorer that is timed, and then stays or moves."""

    def __init__(
        self,
        scorer: Scorer,
        part: PartSpec,
        workers: int,
        *,
        worth_it_seconds: float,
        limit_seconds: float = LIMIT_SECONDS,
    ) -> None:
        self.name = scorer.name
        self._scorer = scorer
        self._worth_it = worth_it_seconds
        self._seconds: list[float] = []
        self._stays = False
        self.pool = ScorePool(part, workers, limit_seconds)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        # rows of tables may hold what JSON cannot, and a scorer must see what it would see here
        if self._stays or sample.row is not None:
            return await self._scorer(sample, trace)
        if len(self._seconds) >= TIMED or not self._worth_it:
            try:
                return await self.pool.score(sample, trace)
            except CannotMoveError:
                self._stays = True
                return await self._scorer(sample, trace)
        before = thread_time()
        try:
            return await self._scorer(sample, trace)
        finally:
            self._seconds.append(thread_time() - before)
            self._stays = len(self._seconds) == TIMED and median(self._seconds) < self._worth_it

    async def aclose(self) -> None:
        await self.pool.aclose()


class _Waiting(NamedTuple):
    question: Question
    answer: asyncio.Future[Score]
    deaths: int = 0
    """Processes that ended while they had this one."""


class ScorePool:
    """Processes that build one scorer each; a list of what waits goes to whichever is free."""

    def __init__(self, part: PartSpec, workers: int, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._part = part
        self._limit = limit_seconds
        self._workers = workers
        self._waiting: deque[_Waiting] = deque()
        self._news = asyncio.Event()
        self._serving: list[asyncio.Task[None]] = []
        self.started = False
        self.processes: dict[int, asyncio.subprocess.Process] = {}
        """Those that are alive, by their ids."""

    async def score(self, sample: Sample, trace: Trace) -> Score:
        waiting = _Waiting(Question(sample, trace), asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._news.set()
        if not self._serving:
            self.started = True
            self._serving = [asyncio.ensure_future(self._serve()) for _ in range(self._workers)]
        return await waiting.answer

    async def aclose(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        self._serving = []

    async def _serve(self) -> None:
        """One process after the other, and one list after the other for each."""
        process: asyncio.subprocess.Process | None = None
        try:
            while True:
                while not (taken := self._take()):
                    self._news.clear()
                    await self._news.wait()
                try:
                    process = process or await self._start()
                    await self._ask(process, taken)
                except (OSError, EOFError) as error:
                    await self._end(process)
                    process = None
                    self._died(taken, error)
                except Exception as error:  # nobody may wait for ever, whatever it was
                    await self._end(process)
                    process = None
                    for waiting in taken:
                        if not waiting.answer.done():
                            waiting.answer.set_exception(error)
        finally:
            await self._end(process)

    def _take(self) -> list[_Waiting]:
        """An even share of what waits; alone, what may have ended a process."""
        taken: list[_Waiting] = []
        most = min(LONGEST_LIST, -(-len(self._waiting) // self._workers))
        while self._waiting and len(taken) < most:
            if self._waiting[0].deaths and taken:
                break
            waiting = self._waiting.popleft()
            if not waiting.answer.done():
                taken.append(waiting)
            if waiting.deaths:
                break
        return taken

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "assay.scorers.worker_process"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=worker_environment(),
            start_new_session=True,  # Ctrl-C is for the run, which ends us when it is done
        )
        self.processes[process.pid] = process
        try:
            await _send(process, msgspec.json.encode(Order(self._part, self._limit)))
            await _receive(process)
        except (OSError, EOFError) as error:
            await self._end(process)
            raise CannotMoveError from error
        return process

    async def _ask(self, process: asyncio.subprocess.Process, taken: list[_Waiting]) -> None:
        await _send(process, msgspec.json.encode([waiting.question for waiting in taken]))
        # it keeps to the limit itself, unless it computes in C and looks at nothing
        async with asyncio.timeout(self._limit * len(taken) + LAST_RESORT_SECONDS):
            answers = _decode(await _receive(process))
        for waiting, answer in zip(taken, answers, strict=True):
            if waiting.answer.done():
                continue
            if answer.failure is not None:
                waiting.answer.set_exception(FailureError(answer.failure))
            elif answer.score is not None:
                waiting.answer.set_result(answer.score.score())

    def _died(self, taken: list[_Waiting], error: Exception) -> None:
        """What the process had is done again, one by one; who ends every process is the one that fails."""
        for waiting in reversed([each for each in taken if not each.answer.done()]):
            if len(taken) == 1 and waiting.deaths >= MOST_DEATHS:
                message = f"scoring this sample ends the process that does it ({type(error).__name__})"
                failure = Failure(stage="scorer", part=self._part.key, kind="crashed", message=message)
                waiting.answer.set_exception(FailureError(failure))
            else:
                self._waiting.appendleft(waiting._replace(deaths=waiting.deaths + 1))
        self._news.set()

    async def _end(self, process: asyncio.subprocess.Process | None) -> None:
        if process is None:
            return
        self.processes.pop(process.pid, None)
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]  # else its pipes warn when they are collected


async def _send(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    process.stdin.write(len(data).to_bytes(4, "big") + data)
    await process.stdin.drain()


async def _receive(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None  # noqa: S101 - it was started with pipes
    return await process.stdout.readexactly(int.from_bytes(await process.stdout.readexactly(4), "big"))


_decode = msgspec.json.Decoder(list[Answer]).decode
