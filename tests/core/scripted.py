"""A model that answers from a list, a clock that only sleep moves, and many questions asked at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request


class Scripted:
    """Answers from a list; an exception in it is raised."""

    name = "scripted"

    def __init__(self, answers: Sequence[str | Exception] = (), wait: Callable[[], asyncio.Future[None]] | None = None):
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.wait = wait

    async def generate(self, request: Request) -> Completion:
        self.asked.append(request)
        if self.wait is not None:
            await self.wait()
        answer = self.answers.pop(0) if self.answers else "ok"
        if isinstance(answer, Exception):
            raise answer
        return Completion(text=answer)


def broke(kind: str = "rate_limit", *, retryable: bool = True, after: float | None = None) -> FailureError:
    return FailureError(Failure(stage="model", kind=kind, message=kind, retryable=retryable), after)


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def ask(model: object, *prompts: str) -> list[Completion | BaseException]:
    async def go() -> list[Completion | BaseException]:
        asking = [model.generate(Request(prompt=prompt)) for prompt in prompts]  # type: ignore[attr-defined]
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(go())
