"""The plain solver: the sample's prompt, once, as a chat message or as text; the answer is the prediction."""

from __future__ import annotations

from typing import Any

import msgspec

from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Message, Request, Sample, Trace


class SingleTurn:
    """One request, one answer."""

    def __init__(self, system: str | None = None) -> None:
        self._system = system

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        request = self._request(sample)
        return answered(request, await model.generate(request))

    def _request(self, sample: Sample) -> Request:
        """The prompt, or the messages that the sample's extras hold, and how long and wild the answer may be."""
        settings = generation_of(sample)
        given = sample.extras.get("messages")
        if isinstance(given, list):
            return Request(messages=tuple(msgspec.convert(given, list[Message])), **settings)
        if self._system is None:
            return Request(prompt=sample.prompt, **settings)
        messages = (Message(role="system", content=self._system), Message(role="user", content=sample.prompt))
        return Request(messages=messages, **settings)


def generation_of(sample: Sample) -> dict[str, Any]:
    """`extras.generation`: what the task itself says about stops, length and temperature."""
    said = sample.extras.get("generation")
    if not isinstance(said, dict):
        return {}
    settings = {name: said[name] for name in ("temperature", "top_p", "max_tokens", "seed") if name in said}
    return settings | ({"stop": tuple(map(str, said["stop"]))} if said.get("stop") else {})


def answered(request: Request, completion: Completion) -> Trace:
    """The trace of one request: a text and its answer, or a conversation that ends with it."""
    if request.messages is None:
        return Trace(prediction=completion.text, prompt=request.prompt, completions=(completion,))
    messages = (*request.messages, reply(completion))
    return Trace(prediction=completion.text, messages=messages, completions=(completion,))


def reply(completion: Completion) -> Message:
    if completion.tool_calls:
        return Message(role="assistant", content=completion.text, tool_calls=completion.tool_calls)
    return Message(role="assistant", content=completion.text)


def single_turn(*, system: str | None = None, context: BuildContext = NO_CONTEXT) -> SingleTurn:
    """The catalog's `single_turn` solver; `system` adds a system message and makes the request a chat."""
    return SingleTurn(system)
