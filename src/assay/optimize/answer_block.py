"""Finds the one fenced text in a proposer's answer. What has none, or several, is not guessed at."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^`\n]*+$")


class UnusableAnswerError(ValueError):
    """An answer without exactly one text in it."""


def text_in(answer: str) -> str:
    """The text between the fences. A fence with a language opens a block inside a block; a bare one closes it."""
    lines = answer.splitlines()
    blocks: list[tuple[int, int]] = []
    opened: list[int] = []
    for number, line in enumerate(lines):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if fence is None:
            continue
        if not opened or fence[2]:
            opened.append(number)
            continue
        first = opened.pop()
        if not opened:
            blocks.append((first, number))
    if opened:
        raise UnusableAnswerError("its block has no end; the answer may have been cut off")
    if len(blocks) != 1:
        found = "no text between ``` fences" if not blocks else f"{len(blocks)} texts between ``` fences"
        raise UnusableAnswerError(f"it holds {found}; exactly one was asked for")
    first, last = blocks[0]
    return "\n".join(lines[first + 1 : last]).strip()
