"""A snippet as a function that can be awaited: started when first needed, time-limited, restarted after a crash.

The worker is a process of its own with a scrubbed environment. One call at a time for plain functions, many at once
for `async` ones. Time spent waiting for a model does not count against the limit; anything else does, and a worker
that does not give up in time is killed.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from assay.core.attempt import failure_of
from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, Stage
from assay.processes.child import Child, OnLine
from assay.processes.environment import child_environment
from assay.processes.service import EndedError, Service
from assay.text.tracebacks import shortened, without_keys
from assay.text.wording import HALF_A_CHARACTER

TIME_LIMIT_SECONDS = 60.0
_GRACE_SECONDS = 1.0
_CONCURRENT_CALLS = 64
_WORKER = Path(__file__).with_name("worker.py")
_NAME = "<snippet>"

Predict = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Snippet:
    """One snippet of a task file and the process it runs in."""

    def __init__(
        self,
        source: str,
        *,
        function: str,
        stage: Stage,
        part: str,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        takes: int | None = None,
        fits: bool = False,
        context: BuildContext,
    ) -> None:
        """The code runs only where the context says so: the file it came in is the user's, or trusted.

        `takes` is how many arguments the function is called with, where that is always the same; with `fits` it may
        take fewer.
        """
        self._allowed = context.own_code
        self._source = source
        self._modules = dict(context.modules)
        self._function = function
        self._takes = {"takes": takes, "fit": fits}
        self._stage: Stage = stage
        self._part = part
        self._time_limit = time_limit_seconds
        if context.timeout_seconds is not None:  # a call about all samples has so many times it
            self._time_limit *= context.timeout_seconds / TIME_LIMIT_SECONDS
        self._service = Service(self._start, self._read, self._load)
        self._turn = asyncio.Semaphore(1)
        self._calls: dict[int, _Call] = {}
        if self._allowed:
            context.loading.append(self.load)

    async def load(self) -> None:
        """Start its process and load it. `FailureError` when that cannot be done, or it cannot be called."""
        await self._service.running()

    async def call(
        self,
        *arguments: dict[str, Any],
        predict: Predict | None = None,
        fit: bool = False,
        each: bool = False,
        time_limit_seconds: float | None = None,
    ) -> Any:
        """Call the snippet's function. `FailureError` when it raises, takes too long or breaks its process.

        With `each`, a list comes with every entry as {"is": entry}, or {"is_not": why} where it cannot be sent.
        `time_limit_seconds` is a shorter limit for this call alone."""
        how = {"fit": fit, "each": each}
        call, answer = await self._called(arguments, predict, how, time_limit_seconds)
        if call.model_failure is not None:
            raise FailureError(call.model_failure)
        if "done" in answer:
            return answer["result"]
        raise self._failure(answer["kind"], answer["message"], answer.get("traceback", ""))

    async def try_out(self, made_up: dict[str, Any]) -> dict[str, Any]:
        """Call it with made-up scores: `result`, or `kind` and `message` of what broke; and what the worker's `trial`
        saw it do with them, where it came to an end by itself. `FailureError` when it cannot be loaded."""
        return (await self._called(({"made_up_scores": made_up},)))[1]

    async def aclose(self) -> None:
        await self._service.aclose()

    async def _called(
        self,
        arguments: tuple[dict[str, Any], ...],
        predict: Predict | None = None,
        how: Mapping[str, bool] = MappingProxyType({}),
        time_limit_seconds: float | None = None,
    ) -> tuple[_Call, dict[str, Any]]:
        if not self._allowed:
            raise self._failure(
                "untrusted", "the task's Python lies outside this project; run with --trust to allow it"
            )
        await self._service.running()  # once loaded, it is known how many calls it takes at once
        async with self._turn:
            call = _Call(await self._service.running(), predict, time_limit_seconds or self._time_limit)
            try:
                answer = await self._answer(call, arguments, how)
            except EndedError:
                kind, message = "exception", "the snippet's process ended by itself"
                if call.killed:
                    kind, message = "timeout", f"took longer than {call.time_limit:g} s and was killed"
                answer = {"kind": kind, "message": message}
            except UnicodeEncodeError:
                answer = {"kind": "bad_input", "message": HALF_A_CHARACTER}
        return call, answer

    def _failure(self, kind: str, message: str, traceback: str = "") -> FailureError:
        traceback = shortened(without_keys(traceback)) if traceback else ""
        return FailureError(
            Failure(stage=self._stage, part=self._part, kind=kind, message=without_keys(message), traceback=traceback)
        )

    def _start(self, on_line: OnLine) -> Child:
        command = [sys.executable, "-I", "-X", "utf8", str(_WORKER), str(self._time_limit)]
        return Child(command, env=child_environment(), on_line=on_line, stderr="dropped")

    async def _load(self, child: Child) -> None:
        limit = self._time_limit + _GRACE_SECONDS
        order: dict[str, Any] = {"load": self._source, "name": _NAME, "function": self._function, **self._takes}
        if self._modules:
            order["modules"] = self._modules
        try:
            loaded = await self._service.ask_of(child, lambda number: _line({**order, "number": number}), limit)
        except TimeoutError:
            loaded = {"message": f"it took longer than {limit:g} s"}
        except EndedError:
            loaded = {"message": "its process ended"}
        if "done" not in loaded:
            message = f"the snippet could not be loaded: {loaded['message']}"
            raise self._failure("exception", message, loaded.get("traceback", ""))
        self._turn = asyncio.Semaphore(_CONCURRENT_CALLS if loaded["result"]["concurrent"] else 1)

    async def _answer(
        self, call: _Call, arguments: tuple[dict[str, Any], ...], how: Mapping[str, bool]
    ) -> dict[str, Any]:
        def line(number: int) -> bytes:
            call.number = number
            self._calls[number] = call
            return _line({"call": number, "function": self._function, "arguments": arguments, **how, "name": _NAME})

        self._set_deadline(call, call.time_limit)
        try:
            return await self._service.ask_of(call.child, line)
        finally:
            self._finish(call)
            for task in call.tasks:
                task.cancel()

    def _set_deadline(self, call: _Call, seconds: float) -> None:
        call.deadline = asyncio.get_running_loop().call_later(seconds, self._overdue, call)

    def _overdue(self, call: _Call) -> None:
        """Ask the worker to give the call up; kill it if it does not."""
        if call.cancelled:
            call.killed = True
            self._service.drop(call.child)
        else:
            call.cancelled = True
            call.child.write(_line({"cancel": call.number}))
            self._set_deadline(call, _GRACE_SECONDS)

    def _finish(self, call: _Call) -> None:
        self._calls.pop(call.number, None)
        if call.deadline is not None:
            call.deadline.cancel()

    def _read(self, child: Child, line: bytes) -> tuple[int, dict[str, Any]] | None:
        try:
            message = _decode(line)
        except msgspec.DecodeError as error:
            raise self._failure("exception", "the snippet wrote to its worker's pipe") from error
        if "predict" in message:
            self._ask_model(message)
            return None
        number = message.get("done", message.get("failed", 0))
        if (call := self._calls.get(number)) is not None:
            self._finish(call)
        return number, message

    def _ask_model(self, message: dict[str, Any]) -> None:
        if (call := self._calls.get(message["for"])) is not None:
            answering = self._answer_question(call, message)
            task = asyncio.get_running_loop().create_task(answering, context=call.context)
            call.tasks.add(task)
            task.add_done_callback(call.tasks.discard)

    async def _answer_question(self, call: _Call, message: dict[str, Any]) -> None:
        """The call's clock stops while it waits for a model."""
        loop = asyncio.get_running_loop()
        if not call.waiting_for_model and call.deadline is not None:
            call.seconds_left = call.deadline.when() - loop.time()
            call.deadline.cancel()
        call.waiting_for_model += 1
        try:
            if call.predict is None:
                raise RuntimeError("this snippet has no model")
            answer = await call.predict(message)
        except FailureError as error:
            answer = _failed(call, error.failure)
        except Exception as error:
            answer = _failed(call, failure_of(error, "model", ""))
        call.waiting_for_model -= 1
        if not call.waiting_for_model and call.number in self._calls:
            self._set_deadline(call, call.seconds_left)
        try:
            line = _line({"answer": message["predict"], **answer})
        except UnicodeEncodeError:
            failed = _failed(call, Failure(stage="model", kind="bad_output", message=HALF_A_CHARACTER))
            line = _line({"answer": message["predict"], **failed})
        call.child.write(line)


@dataclass(slots=True, eq=False)
class _Call:
    child: Child
    predict: Predict | None
    time_limit: float
    number: int = 0
    deadline: asyncio.TimerHandle | None = None
    seconds_left: float = 0.0
    """At the moment it began to wait for a model."""
    waiting_for_model: int = 0
    cancelled: bool = False
    killed: bool = False
    model_failure: Failure | None = None
    """The first; kept here, because the author's code may catch whatever is raised in it."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    context: Context = field(default_factory=copy_context)
    """That of the attempt: another one's line may be what has the question read."""


def _failed(call: _Call, failure: Failure) -> dict[str, Any]:
    call.model_failure = call.model_failure or failure
    return {"failure": failure.message}


def _line(message: dict[str, Any]) -> bytes:
    return msgspec.json.encode(message) + b"\n"


_decode = msgspec.json.Decoder(dict[str, Any]).decode
