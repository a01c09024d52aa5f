"""The stub model: says the same text to everything, so that a harness can be seen to score what cannot answer."""

from __future__ import annotations

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
    """The model behind `stub`, which says nothing, and `stub:TEXT`."""
    return ConstantModel(argument or text)
