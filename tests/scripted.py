"""A model that says what a test wrote for it, and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay.core.seams import BuildContext
from assay.core.types import Completion, Request


class Scripted:
    """Answers from a list, or with a function of the request; an exception in the list is raised."""

    name = "scripted"

    def __init__(self, answers: Sequence[Any] | Callable[[Request], Any]) -> None:
        self._answers = answers
        self.asked: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        at = len(self.asked)
        self.asked.append(request)
        answer = self._answers(request) if callable(self._answers) else self._answers[at]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(text=answer, tokens_in=3, tokens_out=2, finish_reason="stop")


def Context(models: dict[str, Any] | None = None, dataset: Any = None, *, own_code: bool = True) -> BuildContext:
    """What a factory is given: judges by what is written for them, the task's name and its dataset."""

    def model_for(spec: str, options: dict[str, Any] | None = None, **pace: Any) -> Any:
        return (models or {})[spec]

    return BuildContext(own_code=own_code, model_for=model_for, task="t", dataset=dataset)
