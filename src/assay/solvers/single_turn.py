"""The plain solver: the sample's prompt, once, as a chat message or as text; the answer is the prediction."""

from __future__ import annotations

from assay.core.seams import Model
from assay.core.types import Message, Request, Sample, Trace


class SingleTurn:
    """One request, one answer."""

    def __init__(self, system: str | None = None) -> None:
        self._system = system

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        if self._system is None:
            request = Request(prompt=sample.prompt)
            completion = await model.generate(request)
            return Trace(prediction=completion.text, prompt=sample.prompt, completions=(completion,))
        messages = (Message(role="system", content=self._system), Message(role="user", content=sample.prompt))
        completion = await model.generate(Request(messages=messages))
        return Trace(prediction=completion.text, messages=messages, completions=(completion,))


def single_turn(*, system: str | None = None, context: object = None) -> SingleTurn:
    """The catalog's `single_turn` solver; `system` adds a system message and makes the request a chat."""
    return SingleTurn(system)
