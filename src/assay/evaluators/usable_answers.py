"""Asks a model for an answer that has to be usable, such as a verdict, and asks again, with the reason, if it is not.

An answer is read strictly, never guessed: one that stays unusable is an error for the caller to record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from msgspec.structs import replace

from assay.core.seams import Model, offers_of
from assay.core.types import Completion, Message, Request
from assay.core.usage import note_repeat, strike
from assay.reading.strict_json import decode_strictly, objects_in

Read = TypeVar("Read")
MOST_QUOTED = 20_000
"""Characters of an unusable answer that are quoted when the model is called again."""
MOST_READ = 100_000
"""Characters of an answer in which objects are searched for."""


class UnusableError(Exception):
    """An answer that cannot be used. The message is the reason, as it is sent back to the model."""

    answer: Completion | None = None
    """The last answer, once the model has been called as often as allowed."""


async def read_answer(
    model: Model, request: Request, read: Callable[[Completion], Read], *, retries: int = 0
) -> tuple[list[Completion], Read]:
    """Every answer, and what `read` parses from the last one.

    An answer for which `read` raises `UnusableError` is asked for again, up to `retries` times: the request then holds
    that answer and the reason. A refusal is not: it was understood. A cached answer that cannot be parsed is
    requested again as it was, so that rerunning the same command does not repeat the failure.
    """
    completion = await model.generate(request)
    if completion.cached:
        try:
            return [completion], read(completion)
        except Exception:
            strike(completion)
        completion = await model.generate(replace(request, fresh=True))
    completions = [completion]
    while True:
        try:
            return completions, read(completion)
        except UnusableError as error:
            error.answer = completion
            if len(completions) > retries or is_refusal(completion):
                raise
            request = _follow_up(model, request, completion, str(error))
        note_repeat()
        completion = await model.generate(request)
        completions.append(completion)


def json_object(text: str, needed: Collection[str]) -> dict[str, Any] | None:
    """The one JSON object with one of the needed fields, bare, between fences or inside prose.

    None when there is none; `UnusableError` when several disagree, wherever they stand, or one is not strict JSON.
    """
    try:
        verdicts: list[dict[str, Any]] = []
        for candidate in dict.fromkeys(objects_in(text[:MOST_READ])):  # a loop of the model repeats the same one
            value = decode_strictly(candidate.encode())
            if any(name in value for name in needed) and value not in verdicts:
                verdicts.append(value)
    except ValueError as error:  # a lone surrogate is one too
        raise UnusableError(str(error)) from error
    if len(verdicts) > 1:
        raise UnusableError("different verdicts in one answer")
    return verdicts[0] if verdicts else None


def is_refusal(completion: Completion) -> bool:
    """Whether the model, or a filter of its server, declined to answer."""
    return bool(completion.refusal) or completion.finish_reason == "content_filter"


def _follow_up(model: Model, request: Request, completion: Completion, reason: str) -> Request:
    """The conversation so far, and why its last answer could not be used: a fresh draw, answered by no cache."""
    said = completion.text[:MOST_QUOTED] or "(nothing)"
    again = f"Your answer could not be used: {reason}. Answer again, in the form that was asked for."
    if request.messages is None and offers_of(model).chat is False:
        return replace(request, prompt=f"{request.prompt}\n\n{said}\n\n{again}\n\n", fresh=True)
    messages = request.messages or (Message(role="user", content=request.prompt or ""),)
    turns = (Message(role="assistant", content=said), Message(role="user", content=again))
    return replace(request, prompt=None, messages=(*messages, *turns), fresh=True)
