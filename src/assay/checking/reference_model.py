"""The stand-in for every model of a task that is rehearsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from assay.core.describe import ModelOffers
from assay.core.seams import Model
from assay.core.types import Completion, Request
from assay.models.adapters import toy

SOME_ANSWER = Completion(text="an answer")


class Script:
    """Stands for every model of a task; its answers are set beforehand."""

    def __init__(self) -> None:
        self.custom = False
        """Whether the evaluated model takes any JSON."""
        self.answer = SOME_ANSWER
        """Of the evaluated model."""
        self.others_say: Callable[[Request], str] = lambda _: ""
        """Of judges and simulated users."""
        self.requests: list[Request] = []
        self.other_requests: list[Request] = []

    @property
    def evaluated(self) -> Model:
        return _Measured(self)

    def model_for(self, spec: str, options: Mapping[str, Any] | None = None, **limits: Any) -> Model:
        """Any other model of the task, scripted too: no real model is called."""
        del options, limits
        return _Other(spec, self)


class _Measured:
    name = "script"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.offers = ModelOffers(custom=script.custom)

    async def generate(self, request: Request) -> Completion:
        self._script.requests.append(request)
        if request.continuation is not None:
            return Completion(text="", logprob=-1.0, tokens_out=1)
        answer = self._script.answer
        return msgspec.structs.replace(answer, raw={"references": [{"content": answer.text}]})


class _Other:
    offers = ModelOffers(embeddings=True)

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script

    async def generate(self, request: Request) -> Completion:
        self._script.other_requests.append(request)
        if request.embed:
            return Completion(text="", embedding=toy.embedding(request.text()))
        return Completion(text=self._script.others_say(request))
