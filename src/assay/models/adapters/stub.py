"""Models that know nothing: the stub says the same text to everything, the echo says what it is asked."""

from __future__ import annotations

import json

from assay.core.types import Completion, Request


class ConstantModel:
    """Answers every request with one text; by default with nothing."""

    def __init__(self, text: str = "") -> None:
        self.name = f"stub:{text}" if text else "stub"  # what answers differently is named differently
        self._text = text

    @property
    def settings(self) -> dict[str, str]:
        return {"adapter": "stub", "text": self._text}

    async def generate(self, request: Request) -> Completion:
        return Completion(text=self._text, finish_reason="stop")


def make(argument: str | None = None, *, text: str = "") -> ConstantModel:
    """The model behind `stub`, which answers with an empty text, and `stub:TEXT`."""
    return ConstantModel(argument or text)


class EchoModel:
    """Answers with what it is asked: a text as it is, a conversation as JSON."""

    name = "echo"

    @property
    def settings(self) -> dict[str, str]:
        return {"adapter": "echo"}

    async def generate(self, request: Request) -> Completion:
        messages = request.messages or ()
        if request.prompt is not None or (len(messages) == 1 and isinstance(messages[0].content, str)):
            return Completion(text=request.text(), finish_reason="stop")
        said = [{"role": each.role, "content": each.content} for each in messages]
        return Completion(text=json.dumps(said, ensure_ascii=False, indent=2), finish_reason="stop")


def echo() -> EchoModel:
    """The model behind `echo`, which says what it is asked."""
    return EchoModel()
