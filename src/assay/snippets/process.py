"""A snippet as a function that can be awaited: started when first needed, time-limited, restarted after a crash.

The worker is a process of its own with a scrubbed environment. One call at a time for plain functions, many at once
for `async` ones. Time spent waiting for a model does not count against the limit; anything else does, and a worker
that does not give up in time is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, Stage
from assay.processes.environment import child_environment

TIME_LIMIT_SECONDS = 60.0
_GRACE_SECONDS = 1.0
_CONCURRENT_CALLS = 64
_WORKER = Path(__file__).with_name("worker.py")

Predict = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class _Call:
    future: asyncio.Future[Any]
    predict: Predict | None
    deadline: float
    waiting_for_model: int = 0
    model_failure: Failure | None = None
    """The first; kept here, because the author's code may catch whatever is raised in it."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


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
        context: BuildContext | None,
    ) -> None:
        """The code runs only where the context says so: the file it came in is the user's, or trusted."""
        self._allowed = context is not None and context.own_code
        self._source = source
        self._function = function
        self._stage: Stage = stage
        self._part = part
        self._time_limit = time_limit_seconds
        if context is not None and context.timeout_seconds is not None:  # a call about all samples has so many times it
            self._time_limit *= context.timeout_seconds / TIME_LIMIT_SECONDS
        self._process: _Process | None = None
        self._starting: asyncio.Lock | None = None
        self._turn: asyncio.Semaphore | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, *arguments: dict[str, Any], predict: Predict | None = None, fit: bool = False) -> Any:
        """Call the snippet's function. `FailureError` when it raises, takes too long or breaks its process."""
        if not self._allowed:
            raise self._failure(
                "untrusted", "the task's Python lies outside this project; run with --trust to allow it"
            )
        process = await self._ready()
        assert self._turn is not None  # noqa: S101 - made with the process
        async with self._turn:
            if not process.alive:
                process = await self._ready()
            return await process.call(
                self._function, arguments, predict=predict, fit=fit, time_limit=self._time_limit, failure=self._failure
            )

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop()

    def _failure(self, kind: str, message: str) -> FailureError:
        return FailureError(Failure(stage=self._stage, part=self._part, kind=kind, message=message))

    async def _ready(self) -> _Process:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            await self.aclose()
            self._loop, self._starting = loop, asyncio.Lock()
        assert self._starting is not None  # noqa: S101 - just made
        async with self._starting:
            if self._process is None or not self._process.alive:
                await self._start(loop)
        assert self._process is not None  # noqa: S101 - just started
        return self._process

    async def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        process = _Process(loop, self._time_limit)
        loaded = await process.load(self._source, self._function, self._time_limit + _GRACE_SECONDS)
        if not loaded.get("loaded"):
            process.stop()
            raise self._failure("exception", f"the snippet could not be loaded: {loaded.get('message', 'it ended')}")
        self._process = process
        self._turn = asyncio.Semaphore(_CONCURRENT_CALLS if loaded.get("concurrent") else 1)


class _Process:
    """The worker, seen from this side: a thread writes orders, a thread reads answers, the loop does the rest."""

    def __init__(self, loop: asyncio.AbstractEventLoop, time_limit: float) -> None:
        self._loop = loop
        self._calls: dict[int, _Call] = {}
        self._numbers = 0
        self._loaded: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._orders: SimpleQueue[bytes | None] = SimpleQueue()
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", str(_WORKER), str(time_limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            start_new_session=True,
        )
        self.alive = True
        self._threads = [
            threading.Thread(target=self._write_orders, name="snippet-writer", daemon=True),
            threading.Thread(target=self._read_answers, name="snippet-reader", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    async def load(self, source: str, function: str, time_limit: float) -> dict[str, Any]:
        self._order({"load": source, "name": "<snippet>", "function": function})
        try:
            return await asyncio.wait_for(self._loaded, time_limit)
        except TimeoutError:
            return {"loaded": False, "message": f"it took longer than {time_limit:g} s"}

    async def call(
        self,
        function: str,
        arguments: tuple[dict[str, Any], ...],
        *,
        predict: Predict | None,
        fit: bool,
        time_limit: float,
        failure: Callable[[str, str], FailureError],
    ) -> Any:
        self._numbers += 1
        number = self._numbers
        call = _Call(self._loop.create_future(), predict, self._loop.time() + time_limit)
        self._calls[number] = call
        self._order({"call": number, "function": function, "arguments": arguments, "fit": fit, "name": "<snippet>"})
        try:
            answer = await self._finished(number, call, time_limit)
        finally:
            self._calls.pop(number, None)
            for task in call.tasks:
                task.cancel()
        if call.model_failure is not None:
            raise FailureError(call.model_failure)
        if "done" in answer:
            return answer["result"]
        raise failure(answer["kind"], answer["message"])

    async def _finished(self, number: int, call: _Call, time_limit: float) -> dict[str, Any]:
        """Wait for the answer; past the deadline ask the worker to give up, and then make it."""
        told = False
        while True:
            left = call.deadline - self._loop.time()
            await asyncio.wait({call.future}, timeout=max(left, 0.01))
            if call.future.done():
                answer: dict[str, Any] = call.future.result()
                return answer
            if call.waiting_for_model or call.deadline > self._loop.time():
                call.deadline = max(call.deadline, self._loop.time() + 0.05)
                continue
            if told:
                self.stop()
                return {"kind": "timeout", "message": f"took longer than {time_limit:g} s and was killed"}
            self._order({"cancel": number})
            told, call.deadline = True, self._loop.time() + _GRACE_SECONDS

    def stop(self) -> None:
        """End the worker now."""
        self.alive = False
        self._orders.put(None)
        if self._popen.poll() is None:
            os.killpg(self._popen.pid, signal.SIGKILL)  # and whatever it started
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=5)
        self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # it was killed with orders unread

    def __del__(self) -> None:
        if getattr(self, "alive", False):
            self.stop()

    def _order(self, message: dict[str, Any]) -> None:
        self._orders.put(msgspec.json.encode(message) + b"\n")

    def _write_orders(self) -> None:
        pipe = self._popen.stdin
        assert pipe is not None  # noqa: S101 - opened as a pipe
        try:
            while (line := self._orders.get()) is not None:
                pipe.write(line)
                pipe.flush()
        except (BrokenPipeError, ValueError, OSError):
            pass  # the reader notices that the worker is gone

    def _read_answers(self) -> None:
        pipe = self._popen.stdout
        assert pipe is not None  # noqa: S101 - opened as a pipe
        for line in pipe:
            self._on_loop(self._take, msgspec.json.decode(line))
        self._on_loop(self._gone)

    def _on_loop(self, act: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def _take(self, message: dict[str, Any]) -> None:
        if "loaded" in message:
            if not self._loaded.done():
                self._loaded.set_result(message)
            return
        if "predict" in message:
            self._ask_model(message)
            return
        call = self._calls.get(message.get("done", message.get("failed", 0)))
        if call is not None and not call.future.done():
            call.future.set_result(message)

    def _ask_model(self, message: dict[str, Any]) -> None:
        call = self._calls.get(message["for"])
        if call is None:
            return
        call.waiting_for_model += 1
        task = self._loop.create_task(self._answer_question(call, message))
        call.tasks.add(task)
        task.add_done_callback(call.tasks.discard)

    async def _answer_question(self, call: _Call, message: dict[str, Any]) -> None:
        started = self._loop.time()
        try:
            if call.predict is None:
                raise RuntimeError("this snippet has no model")
            answer = await call.predict(message)
        except FailureError as error:
            answer = _failed(call, error.failure)
        except Exception as error:
            answer = _failed(call, Failure(stage="model", kind="exception", message=f"{type(error).__name__}: {error}"))
        call.waiting_for_model -= 1
        call.deadline += self._loop.time() - started
        self._order({"answer": message["predict"], **answer})

    def _gone(self) -> None:
        """The worker ended by itself, or was ended: nobody is left waiting."""
        self.alive = False
        ended = {"kind": "exception", "message": "the snippet's process ended by itself"}
        if not self._loaded.done():
            self._loaded.set_result({"loaded": False, "message": "its process ended"})
        for call in self._calls.values():
            if not call.future.done():
                call.future.set_result(ended)


def _failed(call: _Call, failure: Failure) -> dict[str, Any]:
    call.model_failure = call.model_failure or failure
    return {"failure": failure.message}
