"""A model that gives the answers a test wrote for it, and records its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.core.seams import BuildContext, Dataset, Model
from assay.core.types import Completion, Request


class ScriptedModel:
    """Answers from a list, or with a function of the request; an exception among the answers is raised."""

    name = "scripted"

    def __init__(self, answers: Sequence[Any] | Callable[[Request], Any]) -> None:
        self._answers = answers
        self.requests: list[Request] = []

    async def generate(self, request: Request) -> Completion:
        at = len(self.requests)
        self.requests.append(request)
        answer = self._answers(request) if callable(self._answers) else self._answers[at]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        return Completion(text=answer, tokens_in=3, tokens_out=2, finish_reason="stop")


def context_with(
    models: Mapping[str, Model] | None = None, dataset: Dataset | None = None, *, own_code: bool = True
) -> BuildContext:
    """The context of a factory: models by their spec, and the task's samples."""

    def model_for(spec: str, options: Mapping[str, Any] | None = None, **pace: Any) -> Model:
        return ({} if models is None else models)[spec]

    return BuildContext(own_code=own_code, model_for=model_for, task="t", dataset=dataset)
