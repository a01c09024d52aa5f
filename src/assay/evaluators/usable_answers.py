"""Asks a model for an answer that has to be usable, such as a verdict, and asks again, with the reason, if it is not.

An answer is read strictly, never guessed: one that stays unusable is an error for the caller to record.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from assay.core.seams import Model, offers_of
from assay.core.types import Completion, Message, Request
from assay.core.usage import note_repeat, strike

Read = TypeVar("Read")
_OPENING, _CLOSING = re.compile(r"```[^\n`]*+\n"), re.compile(r"```[ \t]*+(?=\n|\Z)")
MOST_QUOTED = 20_000
"""Characters of an unusable answer that are quoted when the model is called again."""


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


def fenced_blocks(text: str) -> list[str]:
    """What stands between fences, each a block of its own.

    Both fences end a line, so that backticks inside a JSON text, which has no line breaks, are none.
    """
    blocks = []
    end = 0
    while (opening := _OPENING.search(text, end)) and (closing := _CLOSING.search(text, opening.end())):
        blocks.append(text[opening.end() : closing.start()].strip())
        end = closing.end()
    return blocks


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
