"""A worker process in which scorers run that it can build itself, from their names and options.

Calls go there in batches, as lines of JSON, and a score comes back as soon as there is one (`worker_process.py`).
Whose code runs there at the moment is read from memory that the two share: a process that hangs can say nothing.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import re
import sys
from struct import Struct as Packed
from tempfile import TemporaryFile

import msgspec

from assay.core.attempt import failure_of
from assay.core.errors import FailureError
from assay.core.types import Failure
from assay.overriding import override
from assay.processes.child import Child
from assay.processes.environment import worker_environment
from assay.processes.start import how_it_ended
from assay.scorers.hosts import HearsHosts, MovedScorer, RunningCode, ScoreCall, ScoringHost
from assay.scorers.worker_process import ModelAnswer, ModelQuestion, ScoreOrder, ScoreReport, ScorerToBuild

POSITION = Packed("qq")
CLOSING_SECONDS = 5.0


class ProcessHost(ScoringHost):
    """One worker process. `OSError` when it cannot be started."""

    def __init__(self, reports: HearsHosts) -> None:
        super().__init__()
        self._reports = reports
        self._scorers: dict[bytes, int] = {}
        self._moved: dict[int, MovedScorer] = {}
        self._to_build: list[ScorerToBuild] = []
        self._asking: set[asyncio.Task[None]] = set()
        with TemporaryFile() as shared:
            shared.truncate(POSITION.size)
            self._position = mmap.mmap(shared.fileno(), POSITION.size)
            self._child = Child(
                [sys.executable, "-P", "-m", "assay.scorers.worker_process", str(shared.fileno())],
                env=worker_environment(),
                on_line=self._read,
                stderr="shared",
                ends_with_us=True,
                inherits=(shared.fileno(),),
            )
        self.pid = self._child.pid
        self._child.closed.add_done_callback(self._ended)

    @override
    def send(self, calls: list[ScoreCall]) -> None:
        order = ScoreOrder(build=self._to_build)
        for call in calls:
            number = self._number_of(call.moved)
            sample, trace = call.sample, call.trace
            if call.moved.reads_answer_only:
                order.answers.append((call.number, number, trace.prediction, sample.targets, sample.extras))
            else:
                order.calls.append((call.number, number, sample, trace))
        try:
            line = _encode(order)
        except (TypeError, ValueError):
            self._send_one_by_one(calls)
        else:
            self._child.write(line + b"\n")
            self._to_build = []

    @override
    def position(self) -> RunningCode:
        return RunningCode(*POSITION.unpack_from(self._position))

    @override
    def give_up(self) -> str:
        self._child.kill()
        return ""

    @override
    async def aclose(self) -> None:
        keeps_something = any(not moved.computes for moved in self._moved.values())
        await self._child.end(CLOSING_SECONDS if keeps_something else 0.0)

    def _number_of(self, moved: MovedScorer) -> int:
        """The scorer's number there; what is described in the same words is the same scorer, whoever has built it."""
        context = moved.context
        wanted = ScorerToBuild(
            part=moved.part,
            computes=moved.computes,
            models=[model.name for model in moved.models],
            task=context.task,
            min_sandbox=context.min_sandbox,
            sandbox=context.sandbox,
            timeout_seconds=context.timeout_seconds,
            judge_retries=context.judge_retries,
            paces=context.paces,
        )
        key = msgspec.json.encode(wanted)
        number = self._scorers.get(key)
        if number is None:
            number = self._scorers[key] = len(self._scorers) + 1
            self._to_build.append(wanted)
        self._moved[number] = moved
        return number

    def _send_one_by_one(self, calls: list[ScoreCall]) -> None:
        """One of them cannot be sent, such as half a character in an answer: it must not spoil the others."""
        if len(calls) == 1:
            self._reports.returned(self, calls[0].number)
            return
        for call in calls:
            self.send([call])

    def _read(self, child: Child, line: bytes) -> None:
        report = _decode(line)
        for number, outcome in report.scored:
            self._reports.answered(self, number, outcome)
        for number, failure in report.failed:
            self._reports.answered(self, number, _with_variable(failure))
        if report.scores:
            self._reports.timed(report.seconds, report.scores)
        for scorer, why in report.unbuilt:
            self._reports.cannot_move(self._moved[scorer], why)
        for number in report.returned:
            self._reports.returned(self, number)
        for question in report.questions:
            call = self.calls.get(question.call)
            asked = self._answer(question, call)
            task = asyncio.get_running_loop().create_task(asked, context=None if call is None else call.context)
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    async def _answer(self, question: ModelQuestion, call: ScoreCall | None) -> None:
        """What a model answers to a scorer there: the models of a run stay with the run, with their keys and limits."""
        try:
            if call is None:
                raise LookupError("the call it was asked for has its answer")
            completion = await call.moved.models[question.model].generate(question.request)
            answered = ModelAnswer(question.number, completion=completion)
        except FailureError as error:
            answered = ModelAnswer(question.number, failure=error.failure)
        except Exception as error:
            answered = ModelAnswer(question.number, failure=failure_of(error, "model", ""))
        self._child.write(_encode(ScoreOrder(answered=[answered])) + b"\n")

    def _ended(self, _: object) -> None:
        for task in self._asking:
            task.cancel()
        self._reports.died(self, how_it_ended(self._child.status or 0))


def _with_variable(failure: Failure) -> Failure:
    """The failure, with the variable of the environment that it may come from."""
    missing = _MISSING_KEY.match(failure.message)
    if missing is None or missing[1] not in os.environ or missing[1] in worker_environment():
        return failure
    hint = f"; own code scores in a process without this variable: ASSAY_PASS_ENV={missing[1]} passes it on"
    return msgspec.structs.replace(failure, message=failure.message + hint)


_MISSING_KEY = re.compile(r"KeyError: '(\w+)'")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ScoreReport).decode
