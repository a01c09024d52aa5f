"""A scoring process: reads descriptions of scorers and what they shall score, writes scores.

    python -m assay.scorers.worker_process FD

Every message is a line of JSON. Nothing is unpickled. Whose code runs at the moment stands in the memory behind the
file descriptor FD, which the parent process reads when no answer comes. The process ends when its input does.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from struct import Struct as Packed
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Struct

from assay import catalog
from assay.core.errors import FailureError
from assay.core.seams import BuildContext, Model, Scorer, close_part
from assay.core.types import Completion, Failure, PartSpec, Request, Sample, Score, Trace
from assay.scorers.calls import NotHereError, score_in_steps, score_now

POSITION = Packed("qq")
"""The number of the call whose code runs, 0 for none, and at which of its steps."""
UNREPORTED_SECONDS = 0.005
"""How long a score may wait for others to be reported with it."""
_READ_BYTES = 1 << 18


class ScorerToBuild(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A scorer to build; they are numbered from one, in the order they come."""

    part: PartSpec
    computes: bool
    models: list[str] = []
    """The names of the models that it is given, in the order it asks for them."""
    task: str = ""
    min_sandbox: str | None = None
    sandbox: str | None = None
    timeout_seconds: float | None = None
    judge_retries: int = 0
    paces: Mapping[str, Mapping[str, Any]] = {}


class ModelAnswer(Struct, frozen=True, omit_defaults=True):
    """What a model answered to a question."""

    number: int
    completion: Completion | None = None
    failure: Failure | None = None


class ScoreOrder(Struct, omit_defaults=True):
    """A line to this process."""

    build: list[ScorerToBuild] = []
    answers: list[tuple[int, int, str, tuple[str, ...], dict[str, Any]]] = []
    """Calls of scorers that read nothing else: number, scorer, prediction, targets, extras."""
    calls: list[tuple[int, int, Sample, Trace]] = []
    answered: list[ModelAnswer] = []


class ModelQuestion(Struct, frozen=True):
    """A request of a scorer to one of its models."""

    number: int
    call: int
    model: int
    request: Request


class ScoreReport(Struct, omit_defaults=True):
    """A line from this process."""

    scored: list[tuple[int, Score]] = []
    failed: list[tuple[int, Failure]] = []
    seconds: float = 0.0
    scores: int = 0
    """How long it took to compute this many scores."""
    unbuilt: list[tuple[int, str]] = []
    """Scorers that cannot be built here, and why."""
    returned: list[int] = []
    """Calls that cannot be made here."""
    questions: list[ModelQuestion] = []


class ScoringWorker:
    """The scorers of this process, and the calls that it is making."""

    def __init__(self, orders: int, reports: int, position: mmap.mmap) -> None:
        self._orders, self._reports, self._position = orders, reports, position
        self._scorers: list[Scorer | None] = []
        self._computes: list[bool] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: dict[int, asyncio.Future[Completion]] = {}
        self._asked = 0
        self._unread = bytearray()
        self._report = ScoreReport()
        self._reported = 0.0

    async def serve(self) -> None:
        """Score until there are no more orders, then close the scorers."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        os.set_blocking(self._orders, False)
        loop.add_reader(self._orders, self._read, ended)
        await ended
        loop.remove_reader(self._orders)
        for task in self._tasks:
            task.cancel()
        for scorer in self._scorers:
            await close_part(scorer)

    async def ask(self, call: int, model: int, request: Request) -> Completion:
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._questions[number] = answer
        self._report.questions.append(ModelQuestion(number, call, model, request))
        self._send_report()
        try:
            return await answer
        finally:
            del self._questions[number]

    def _read(self, ended: asyncio.Future[None]) -> None:
        data = os.read(self._orders, _READ_BYTES)
        if not data:
            ended.set_result(None)
            return
        self._unread += data
        if b"\n" in data:
            *lines, rest = self._unread.split(b"\n")
            self._unread = rest
            try:
                for line in lines:
                    self._follow(_decode(line))
            except BaseException as error:  # the callback of a loop would log it and leave the callers waiting
                ended.set_exception(error)

    def _follow(self, order: ScoreOrder) -> None:
        for wanted in order.build:
            self._build(wanted)
        for answered in order.answered:
            answer = self._questions[answered.number]
            if answered.failure is not None:
                answer.set_exception(FailureError(answered.failure))
            elif answered.completion is not None:
                answer.set_result(answered.completion)
        started = self._reported = perf_counter()
        for number, scorer, prediction, targets, extras in order.answers:
            self._make(number, scorer, Sample(id="", targets=targets, extras=extras), Trace(prediction=prediction))
        for number, scorer, sample, trace in order.calls:
            self._make(number, scorer, sample, trace)
        self._mark(0, 0)
        self._report.seconds += perf_counter() - started
        self._report.scores += len(order.answers) + len(order.calls)
        self._send_report()

    def _build(self, wanted: ScorerToBuild) -> None:
        number = len(self._scorers) + 1
        context = self._context(number, wanted)
        part, scorer = wanted.part, None
        self._mark(-number, 1)  # importing the author's code may hang too
        try:
            # the parent process has built the same scorer, so its code is trusted
            scorer = catalog.make("scorer", part.use, part.options, own_code=True, key=part.key, context=context)
        except BaseException as error:
            self._report.unbuilt.append((number, f"{type(error).__name__}: {error}"))
        self._scorers.append(scorer)
        self._computes.append(wanted.computes)

    def _context(self, number: int, wanted: ScorerToBuild) -> BuildContext:
        names = iter(enumerate(wanted.models))

        def model_for(*_: Any, **__: Any) -> Model:
            """The next of the models that the parent process has built for the same scorer."""
            index, name = next(names)
            return ModelOfTheRun(self, index, name)

        return BuildContext(
            own_code=True,
            model_for=model_for,
            min_sandbox=wanted.min_sandbox,
            sandbox=wanted.sandbox,
            timeout_seconds=wanted.timeout_seconds,
            judge_retries=wanted.judge_retries,
            task=wanted.task,
            paces=wanted.paces,
            dataset=_NotHere(),
            cost_of=_cost_of,
        )

    def _make(self, number: int, at: int, sample: Sample, trace: Trace) -> None:
        scorer = self._scorers[at - 1]
        if scorer is None:
            self._report.returned.append(number)
            return
        outcome = None
        if self._computes[at - 1]:
            self._mark(number, 1)
            try:
                outcome = score_now(scorer, sample, trace)
            except NotHereError:
                self._return(number, at)
                return
        if outcome is not None:
            self._answer(number, outcome)
        else:
            task = asyncio.get_running_loop().create_task(self._make_in_steps(number, at, scorer, sample, trace))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _make_in_steps(self, number: int, at: int, scorer: Scorer, sample: Sample, trace: Trace) -> None:
        _call.set(number)
        try:
            outcome = await score_in_steps(scorer, sample, trace, number, self._mark)
        except NotHereError:
            self._return(number, at)
        else:
            self._answer(number, outcome)
        self._send_report()

    def _return(self, number: int, at: int) -> None:
        self._report.unbuilt.append((at, "it asks for what is only in the process of the run"))
        self._report.returned.append(number)

    def _answer(self, number: int, outcome: Score | Failure) -> None:
        if isinstance(outcome, Score):
            self._report.scored.append((number, outcome))
        else:
            self._report.failed.append((number, outcome))
        now = perf_counter()
        if now - self._reported > UNREPORTED_SECONDS:
            self._send_report()
            self._reported = now

    def _mark(self, number: int, step: int) -> None:
        POSITION.pack_into(self._position, 0, number, step)

    def _send_report(self) -> None:
        report, self._report = self._report, ScoreReport()
        if report == _NOTHING:
            return
        line = _encode(report) + b"\n"
        while line:
            line = line[os.write(self._reports, line) :]


class ModelOfTheRun:
    """A model that the run has: every request is made there, where its key, its limits and its budget are."""

    def __init__(self, worker: ScoringWorker, index: int, name: str) -> None:
        self._worker, self._index, self.name = worker, index, name

    async def generate(self, request: Request) -> Completion:
        return await self._worker.ask(_call.get(), self._index, request)


class _NotHere:
    """Stands for the samples of the task."""

    def __len__(self) -> int:
        raise NotHereError

    def __iter__(self) -> Any:
        raise NotHereError


def _cost_of(completions: object) -> float | None:
    raise NotHereError


_call: ContextVar[int] = ContextVar("_call", default=0)
"""The call that a scorer is making a request for."""


def main() -> None:
    # what a scorer prints or reads must not mix with the messages
    orders, reports = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    position = mmap.mmap(int(sys.argv[1]), POSITION.size)
    asyncio.run(ScoringWorker(orders, reports, position).serve())


_NOTHING = ScoreReport()
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ScoreOrder).decode

if __name__ == "__main__":
    main()
