"""Programs that are kept running between evaluations: a payload on each line of input, an answer on each of output.

An extension of protocol v2. Every program has one request at a time, so that its time limit covers that request alone
and a simple loop over its input is enough; as many are started as are needed at once. The payload has a number, `_id`;
an answer that repeats it must have the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from assay.evaluators.payload import encode_payload, failed
from assay.processes.child import GRACE_SECONDS, Child, OnLine
from assay.processes.service import EndedError, Service

Start = Callable[[str | None, OnLine], Child]


class UnaskedError(Exception):
    """An unrequested line: later answers could be taken for those of other requests."""


class KeptPrograms:
    """The programs of one evaluator, each with the environment of its task model; those that die are restarted."""

    def __init__(self, name: str, start: Start) -> None:
        self._name = name
        self._start = start
        self._programs: list[_KeptProgram] = []
        self._idle: dict[str | None, list[_KeptProgram]] = {}

    @property
    def pids(self) -> list[int]:
        return [pid for program in self._programs for pid in program.service.pids]

    async def ask(
        self, payload: Mapping[str, Any], timeout_seconds: float, task_model: str | None
    ) -> tuple[bytes, Child]:
        """One answer, and the child that gave it. `OSError`, `EndedError`, `TimeoutError`, `EvaluatorError`."""
        idle = self._idle.setdefault(task_model, [])
        program = idle.pop() if idle else self._another(task_model)
        try:
            return await program.ask(payload, timeout_seconds)
        finally:
            idle.append(program)

    async def close(self) -> None:
        """Let the programs end by themselves, for a moment; then kill them."""
        programs, self._programs, self._idle = self._programs, [], {}
        for program in programs:
            await program.service.aclose(GRACE_SECONDS)

    def _another(self, task_model: str | None) -> _KeptProgram:
        program = _KeptProgram(self._name, lambda on_line: self._start(task_model, on_line))
        self._programs.append(program)
        return program


class _KeptProgram:
    """One of them; a new child takes its place when it dies."""

    def __init__(self, name: str, start: Callable[[OnLine], Child]) -> None:
        self._name = name
        self._has_answered: Child | None = None
        self.service: Service[bytes] = Service(start, self._read)

    async def ask(self, payload: Mapping[str, Any], timeout_seconds: float) -> tuple[bytes, Child]:
        child = await self.service.running()
        try:
            answer = await self._ask(child, payload, timeout_seconds)
        except EndedError:
            if child is not self._has_answered or child.overflow:
                raise
            # it answered before and may have ended before it read this: a new one gets the request, once
            child = await self.service.running()
            answer = await self._ask(child, payload, timeout_seconds)
        self._has_answered = child
        return answer, child

    async def _ask(self, child: Child, payload: Mapping[str, Any], timeout_seconds: float) -> bytes:
        answered = False
        try:
            line = await self.service.ask_of(child, lambda number: self._line(payload, number), timeout_seconds)
            answered = self._is_answer_to(line, self.service.issued)
            return line
        finally:
            if not answered:
                self.service.drop(child)  # a late answer must not meet the next request

    def _line(self, payload: Mapping[str, Any], number: int) -> bytes:
        return encode_payload(self._name, {**payload, "_id": number}) + b"\n"

    def _read(self, child: Child, line: bytes) -> tuple[int, bytes]:
        if not self.service.load:
            raise UnaskedError
        return self.service.issued, line

    def _is_answer_to(self, line: bytes, number: int) -> bool:
        """Whether the program can take another request; one that answers a different request is out of step."""
        try:
            given = msgspec.json.decode(line, type=_Numbered).id
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return False  # reading the answer reports what is wrong with it
        if given is not UNSET and given != number:
            raise failed(self._name, "bad_output", f"answered the request with `_id` {given!r}, expected {number}")
        return True


class _Numbered(Struct, frozen=True):
    id: Any = msgspec.field(name="_id", default=UNSET)
