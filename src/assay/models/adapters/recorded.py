"""`recorded`: stands for the model whose answers are already recorded, where no model is called."""

from __future__ import annotations

from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request


class RecordedModel:
    """Has a name and no answers: they lie in the dataset."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, request: Request) -> Completion:
        message = "this run scores recorded answers and asks no model; name one with --model"
        raise FailureError(Failure(stage="model", kind="unsupported", part=self.name, message=message))


def make(argument: str | None = None) -> RecordedModel:
    """The model behind `recorded`; `recorded:NAME` names the model that gave the answers."""
    return RecordedModel(f"recorded:{argument}" if argument else "recorded")
