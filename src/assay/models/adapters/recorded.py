"""`recorded` stands for a model whose answers are already recorded, `no-model` for none: no model is called."""

from __future__ import annotations

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.types import Completion, Failure, Request


class RecordedModel:
    """Has a name and no answers: they are in the dataset."""

    offers = ModelOffers(cacheable=True, answers=False)

    def __init__(self, name: str) -> None:
        self.name = name

    async def generate(self, request: Request) -> Completion:
        message = "this run scores recorded answers and calls no model; name one with --model"
        raise FailureError(Failure(stage="model", kind="unsupported", part=self.name, message=message))


def make(argument: str | None = None) -> RecordedModel:
    """The model `recorded`; `recorded:NAME` names the model that gave the answers."""
    return RecordedModel(f"recorded:{argument}" if argument else "recorded")


def none() -> RecordedModel:
    """The model `no-model`, of a run whose tasks evaluate data or the system itself."""
    return RecordedModel("no-model")
