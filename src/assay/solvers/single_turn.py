"""The plain solver: the sample's prompt, once, as a chat message or as text; the answer is the prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import msgspec

from assay.core.describe import SolverNeeds, describes
from assay.core.seams import NO_CONTEXT, BuildContext, Model
from assay.core.types import Completion, Message, Request, Sample, Trace

GENERATION = ("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "extra")


class SingleRequest(ABC):
    """A solver that makes one request and can show it."""

    @abstractmethod
    def request(self, sample: Sample) -> Request:
        """The request for this sample."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        request = self.request(sample)
        return answered(request, await model.generate(request))


class SingleTurn:
    """One request, one answer."""

    def __init__(self, system: str | None = None) -> None:
        self._system = system

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        request = self._request(sample)
        return answered(request, await model.generate(request))

    def _request(self, sample: Sample) -> Request:
        """The prompt, or the messages in the sample's extras, with the limits on length and temperature."""
        if not sample.extras and self._system is None:
            return Request(prompt=sample.prompt)
        settings = generation_of(sample)
        given = sample.extras.get("messages")
        if isinstance(given, list):
            return Request(messages=tuple(msgspec.convert(given, list[Message])), **settings)
        question = Message(role="user", content=_with_media(sample))
        if self._system is None:
            if isinstance(question.content, list):
                return Request(messages=(question,), **settings)
            return Request(prompt=sample.prompt, **settings)
        return Request(messages=(Message(role="system", content=self._system), question), **settings)


def _with_media(sample: Sample) -> str | list[dict[str, Any]]:
    """The prompt, or parts: it, and the files of `extras.images` and `extras.audio`."""
    images, sounds = sample.extras.get("images"), sample.extras.get("audio")
    if not isinstance(images, list) and not isinstance(sounds, list):
        return sample.prompt
    return [
        {"type": "text", "text": sample.prompt},
        *({"type": "image_url", "image_url": {"url": str(name)}} for name in images or ()),
        *({"type": "input_audio", "input_audio": {"file": str(name)}} for name in sounds or ()),
    ]


def generation_of(sample: Sample) -> dict[str, Any]:
    """`extras.generation`: the task's own stop sequences, length and temperature, passed on unchanged."""
    given = sample.extras.get("generation")
    if not isinstance(given, dict):
        return {}
    settings = {name: given[name] for name in GENERATION if name in given}
    return settings | ({"stop": tuple(map(str, given["stop"]))} if given.get("stop") else {})


def answered(request: Request, completion: Completion) -> Trace:
    """The trace of one request: a text and its answer, or a conversation that ends with it."""
    if request.messages is None:
        return Trace(prediction=completion.text, prompt=request.prompt, completions=(completion,))
    messages = (*request.messages, reply(completion))
    return Trace(prediction=completion.text, messages=messages, completions=(completion,))


def reply(completion: Completion) -> Message:
    return Message(role="assistant", content=completion.text, tool_calls=completion.tool_calls or None)


@describes(SolverNeeds())
def single_turn(*, system: str | None = None, context: BuildContext = NO_CONTEXT) -> SingleTurn:
    """The catalog's `single_turn` solver; `system` adds a system message and makes the request a chat."""
    return SingleTurn(system)
