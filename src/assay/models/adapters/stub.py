"""Models for tests and dry runs: the stub always answers with the same text, the echo with the request."""

from __future__ import annotations

import json

from assay.core.describe import ModelOffers
from assay.core.types import Completion, Request


class ConstantModel:
    """Answers every request with the same text, by default an empty one."""

    offers = ModelOffers(cacheable=True, applies=())

    def __init__(self, text: str = "") -> None:
        self.name = f"stub:{text}" if text else "stub"  # models that answer differently have different names
        self._text = text

    @property
    def settings(self) -> dict[str, str]:
        return {"adapter": "stub", "text": self._text}

    async def generate(self, request: Request) -> Completion:
        return Completion(text=self._text, finish_reason="stop")


def make(argument: str | None = None, *, text: str = "") -> ConstantModel:
    """The models `stub`, which answers with an empty text, and `stub:TEXT`."""
    return ConstantModel(argument or text)


class EchoModel:
    """Answers with the request: a text unchanged, a conversation as JSON."""

    name = "echo"
    offers = ModelOffers(cacheable=True, applies=("system", "prefill"))

    @property
    def settings(self) -> dict[str, str]:
        return {"adapter": "echo"}

    async def generate(self, request: Request) -> Completion:
        messages = request.messages or ()
        if request.prompt is not None or (len(messages) == 1 and isinstance(messages[0].content, str)):
            return Completion(text=request.text(), finish_reason="stop")
        turns = [{"role": message.role, "content": message.content} for message in messages]
        return Completion(text=json.dumps(turns, ensure_ascii=False, indent=2), finish_reason="stop")


def echo() -> EchoModel:
    """The model `echo`, which answers with the request."""
    return EchoModel()
