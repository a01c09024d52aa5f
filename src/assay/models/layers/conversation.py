"""What a run adds to each request: a system message, the beginning of the answer, and what to do if it is too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from assay.core.model_stack import Wrapper
from assay.core.seams import Model
from assay.core.types import Completion, Message, Request
from assay.overriding import override


class WithFrame(Wrapper):
    """Adds the run's `--system`, `--prefill` and `--too-long` to each request; the last replaces what the task says.

    A task's own system message follows the run's, in one message. A text that is scored or continued has no turns, and
    gets the system text before it and the beginning of the answer after it.
    """

    def __init__(
        self,
        model: Model,
        *,
        system: str | None,
        prefill: str | None,
        too_long: Literal["fail", "cut-left"] | None = None,
    ) -> None:
        super().__init__(model)
        self._too_long = too_long
        self._system = system
        self._prefill = prefill

    @override
    async def generate(self, request: Request) -> Completion:
        request = framed(request, self._system, self._prefill)
        if self._too_long is not None:
            request = msgspec.structs.replace(request, too_long=self._too_long)
        return await self.model.generate(request)


def framed(request: Request, system: str | None, prefill: str | None) -> Request:
    if system is None and prefill is None:
        return request
    if request.prompt is not None and (request.plain or request.continuation is not None):
        before = f"{system}\n\n" if system else ""
        return msgspec.structs.replace(request, prompt=f"{before}{request.prompt}{prefill or ''}")
    messages: tuple[Message, ...] = request.messages or (Message(role="user", content=request.prompt or ""),)
    if system:
        messages = _with_system(messages, system)
    if prefill:
        messages = (*messages, Message(role="assistant", content=prefill))
    return msgspec.structs.replace(request, prompt=None, messages=messages)


def _with_system(messages: Sequence[Message], system: str) -> tuple[Message, ...]:
    first, *rest = messages
    if first.role == "system" and isinstance(first.content, str):
        joined = msgspec.structs.replace(first, content=f"{system}\n\n{first.content}")
        return (joined, *rest)
    return (Message(role="system", content=system), *messages)
