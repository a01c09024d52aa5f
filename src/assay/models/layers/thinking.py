"""Separates the reasoning between think tags from the answer."""

from __future__ import annotations

import msgspec

from assay.core.model_stack import Wrapper
from assay.core.types import Completion, Request
from assay.overriding import override

TAGS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"))
QUOTES = "\"'`"


class WithoutThinking(Wrapper):
    """Moves a block of thinking at the beginning of an answer from the text to `Completion.reasoning`."""

    @override
    async def generate(self, request: Request) -> Completion:
        completion = await self.model.generate(request)
        return completion if request.continuation is not None else without_thinking(completion)


def without_thinking(completion: Completion) -> Completion:
    text = completion.text
    if "hink" not in text and "THINK" not in text:
        return completion
    for opening, closing in TAGS:
        if (split := _split(text, opening, closing)) is not None:
            thought, answer = split
            reasoning = "\n\n".join(item for item in (completion.reasoning, thought) if item)
            return msgspec.structs.replace(completion, text=answer, reasoning=reasoning or None)
    return completion


def _split(text: str, opening: str, closing: str) -> tuple[str, str] | None:
    """Thought and answer, or None where there is no thought.

    A thought that was cut off has no end and no answer after it; where the chat template wrote the opening tag into the
    prompt, the answer has only the closing one.
    """
    start = text.lstrip()
    if start.startswith(opening):
        thought, closed, answer = _ended(start[len(opening) :], closing)
        return thought.strip(), answer.lstrip() if closed else ""
    thought, closed, answer = _ended(text, closing)
    return (thought.strip(), answer.lstrip()) if closed and opening not in text else None


def _ended(text: str, closing: str) -> tuple[str, bool, str]:
    """The text before the closing tag, whether there is one, and the text after it.

    A tag in quotes does not close: the text is about tags, or is a program that reads them.
    """
    at = text.find(closing)
    while at > 0 and text[at - 1] in QUOTES and text[at + len(closing) :].startswith(text[at - 1]):
        at = text.find(closing, at + 1)
    return (text, False, "") if at < 0 else (text[:at], True, text[at + len(closing) :])
