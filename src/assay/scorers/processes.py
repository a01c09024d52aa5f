"""Moves scorers that need much CPU to worker processes.

The first scores are computed in this process and timed. A scorer that takes more than a millisecond would delay every
answer that arrives meanwhile, and would use only one core; after that, batches of samples go to processes that build
the same scorer from its name and options. Scores and failures are the same either way, and a process that dies only
costs time.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from time import thread_time
from typing import NamedTuple

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import SaysIfPure, Scorer, close_part
from assay.core.types import Failure, PartSpec, Sample, Score, Trace
from assay.processes.child import Child, OnLine
from assay.processes.environment import worker_environment
from assay.processes.service import EndedError, Service
from assay.processes.start import cores, how_it_ended
from assay.scorers.watch import LIMIT_SECONDS
from assay.scorers.worker_process import Answer, Order, ScoreRequest

WORTH_IT_SECONDS = 0.001
"""CPU time for one score. Below this, handing it over costs more than it saves."""
TIMED = 32
"""Scores computed in this process before that is decided."""
LARGEST_BATCH = 64
LAST_RESORT_SECONDS = 60.0
MOST_DEATHS = 2
"""A sample that on its own has crashed this many processes will crash the next one too."""


def in_processes(scorer: Scorer, part: PartSpec, workers: int | None, limit_seconds: float | None = None) -> Scorer:
    """The scorer, moved to processes if it only computes and turns out to be slow. None: as many as there are CPUs."""
    cpus = cores()
    count = (cpus if cpus > 1 else 0) if workers is None else workers
    if not count or not (isinstance(scorer, SaysIfPure) and scorer.only_computes):
        return scorer
    # a number set by the user is always used; otherwise moving has to be worth it
    worth_it = WORTH_IT_SECONDS if workers is None else 0.0
    return MayMove(scorer, part, count, worth_it_seconds=worth_it, limit_seconds=limit_seconds or LIMIT_SECONDS)


class CannotMoveError(Exception):
    """The scorer cannot be built in another process: its code exists only in this one."""


class CannotSendError(Exception):
    """The sample or its trace cannot be encoded as JSON, such as a lone surrogate in an answer."""


class MayMove:
    """Times a scorer, then keeps it in this process or moves it to others."""

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
            except CannotSendError:
                return await self._scorer(sample, trace)
            except CannotMoveError:
                self._stays = True
                return await self._scorer(sample, trace)
        before = thread_time()
        try:
            return await self._scorer(sample, trace)
        finally:
            self._seconds.append(thread_time() - before)
            self._stays = len(self._seconds) == TIMED and sorted(self._seconds)[TIMED // 2] < self._worth_it

    async def aclose(self) -> None:
        await self.pool.aclose()
        await close_part(self._scorer)


class _Waiting(NamedTuple):
    request: msgspec.Raw
    answer: asyncio.Future[Score]
    deaths: int = 0
    """Processes that died while scoring this request."""


class ScorePool:
    """Processes that each build the scorer; a batch of waiting requests goes to whichever is free."""

    def __init__(self, part: PartSpec, workers: int, limit_seconds: float = LIMIT_SECONDS) -> None:
        self._part = part
        self._waiting: deque[_Waiting] = deque()
        self._news = asyncio.Event()
        self._serving: list[asyncio.Task[None]] = []
        self.started = False
        self.processes = [_ScoreProcess(part, limit_seconds) for _ in range(workers)]

    async def score(self, sample: Sample, trace: Trace) -> Score:
        try:
            request = msgspec.Raw(msgspec.json.encode(ScoreRequest(sample, trace)))
        except (TypeError, ValueError) as error:
            raise CannotSendError from error
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._news.set()
        if not self._serving:
            self.started = True
            self._serving = [asyncio.ensure_future(self._serve(process)) for process in self.processes]
        return await waiting.answer

    async def aclose(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        self._serving = []
        for process in self.processes:
            await process.service.aclose()

    async def _serve(self, process: _ScoreProcess) -> None:
        """Score one batch after another."""
        while True:
            while not (batch := self._take()):
                self._news.clear()
                await self._news.wait()
            try:
                _deliver(batch, await process.score([waiting.request for waiting in batch]))
            except EndedError as error:
                self._died(batch, how_it_ended(error.child.status or 0))
            except TimeoutError:
                self._died(batch, "answered nothing and was killed")
            except OSError as error:
                self._died(batch, f"cannot be started: {error.strerror}")
            except Exception as error:  # no caller may wait forever, whatever went wrong
                for waiting in batch:
                    if not waiting.answer.done():
                        waiting.answer.set_exception(error)

    def _take(self) -> list[_Waiting]:
        """An even share of the queue; a sample that may have crashed a process goes alone."""
        batch: list[_Waiting] = []
        most = min(LARGEST_BATCH, -(-len(self._waiting) // len(self.processes)))
        while self._waiting and len(batch) < most:
            if self._waiting[0].deaths and batch:
                break
            waiting = self._waiting.popleft()
            if not waiting.answer.done():
                batch.append(waiting)
            if waiting.deaths:
                break
        return batch

    def _died(self, batch: list[_Waiting], how: str) -> None:
        """The process's samples are scored again, one by one; the one that crashes every process fails."""
        for waiting in reversed([each for each in batch if not each.answer.done()]):
            if len(batch) == 1 and waiting.deaths >= MOST_DEATHS:
                message = f"scoring this sample crashes the scoring process, which {how}"
                failure = Failure(stage="scorer", part=self._part.key, kind="crashed", message=message)
                waiting.answer.set_exception(FailureError(failure))
            else:
                self._waiting.appendleft(waiting._replace(deaths=waiting.deaths + 1))
        self._news.set()


class _ScoreProcess:
    """A process that builds the scorer, then scores one batch after another."""

    def __init__(self, part: PartSpec, limit_seconds: float) -> None:
        self._order = Order(part, limit_seconds)
        self.service = Service(self._start, lambda _, line: _decode(line), self._build)

    async def score(self, requests: list[msgspec.Raw]) -> list[Answer]:
        # it keeps to the limit itself, unless it computes in C without checking for signals
        patience = self._order.limit_seconds * len(requests) + LAST_RESORT_SECONDS
        return await self.service.ask(lambda number: _line((number, requests)), patience)

    def _start(self, on_line: OnLine) -> Child:
        command = [sys.executable, "-P", "-m", "assay.scorers.worker_process"]
        return Child(command, env=worker_environment(), on_line=on_line, stderr="shared")

    async def _build(self, child: Child) -> None:
        try:
            await self.service.ask_of(child, lambda number: _line((number, self._order)))
        except EndedError as error:
            raise CannotMoveError from error


def _deliver(batch: list[_Waiting], answers: list[Answer]) -> None:
    for waiting, answer in zip(batch, answers, strict=True):
        if waiting.answer.done():
            continue
        if answer.failure is not None:
            waiting.answer.set_exception(FailureError(answer.failure))
        elif answer.score is not None:
            waiting.answer.set_result(Score(**answer.score))


def _line(message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"


_decode = msgspec.json.Decoder(tuple[int, list[Answer]]).decode
