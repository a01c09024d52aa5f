"""Finds the one fenced text in a proposer's answer, read as Markdown. What has none, or several, is not guessed at."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}+|~{3,}+)[ \t]*+([^`\r]*?)[ \t\r]*$")
_END_OF_THOUGHTS = re.compile(r"</think(?:ing)?>")

_Fences = list[tuple[int, str, str]]
"""Lines that may open or close a block: number, fence and what follows it."""


class UnusableAnswerError(ValueError):
    """An answer without exactly one text in it."""


def fence_for(*texts: str) -> str:
    """A fence that none of the texts has: longer than the longest in them."""
    longest = max((len(fence) for text in texts for _, fence, _ in _fences(text.split("\n"))), default=2)
    return "`" * max(3, longest + 1)


MOST_FENCES = 5_000
"""No text that anybody optimizes has as many; an answer that repeats itself has."""


def text_in(answer: str, current: str = "", *, or_whole: bool = False) -> str:
    """The text between the fences, character by character.

    With `or_whole`, an answer without any fence that has most of the words of the current text is taken as a whole:
    some models answer with the text alone, however they are called.

    A fence closes with the same character and at least the same length. Models do not always keep to that: where it
    gives no single text, a fence with a language is taken to open a block inside the block, and where the current text
    has blocks too, everything from the first fence to the last is the text.
    """
    if or_whole and "```" not in answer and "~~~" not in answer and _is_like(answer, current):
        return _END_OF_THOUGHTS.split(answer)[-1].strip()
    lines = answer.split("\n")
    if sum("```" in line or "~~~" in line for line in lines) > MOST_FENCES:
        raise UnusableAnswerError(f"it holds more than {MOST_FENCES:,} fences; exactly one text was asked for")
    if _END_OF_THOUGHTS.search(answer) is None:
        return _text_in(lines, current)
    ends = [number for number, line in enumerate(lines) if _END_OF_THOUGHTS.search(line)]
    blocks, _ = _as_markdown(_fences(lines))
    outside = [end for end in ends if not any(first < end < last for first, last in blocks)]
    if len(outside) < len(ends):  # a text may speak of thoughts: what stands in a block ends none
        try:
            return _text_in(_after(lines, outside), current)
        except UnusableAnswerError:
            pass
    return _text_in(_after(lines, ends), current)


def _is_like(answer: str, current: str) -> bool:
    """Whether an answer is a version of the current text, rather than a remark about it."""
    words = set(re.findall(r"\w+", current.lower()))
    return bool(words) and 2 * len(words & set(re.findall(r"\w+", answer.lower()))) > len(words)


def _after(lines: list[str], ends: list[int]) -> list[str]:
    """What follows the last end of thoughts."""
    return [_END_OF_THOUGHTS.split(lines[ends[-1]])[-1], *lines[ends[-1] + 1 :]] if ends else lines


def _text_in(lines: list[str], current: str) -> str:
    fences = _fences(lines)
    blocks, complete = _as_markdown(fences)
    if not complete or len(blocks) != 1:
        others = [_with_languages_nested(fences)]
        if len(fences) > 2 and _fences(current.split("\n")) and _is_framed(lines, fences):
            others.append([(fences[0][0], fences[-1][0])])
        block = next((other for other in others if len(other) == 1), None)
        if block is None:
            raise UnusableAnswerError(_why_unusable(len(blocks), complete))
        blocks = block
    first, last = blocks[0]
    return "\n".join(lines[first + 1 : last]).removesuffix("\r")


def _why_unusable(blocks: int, complete: bool) -> str:
    if not complete and blocks < 2:
        return "its block has no end; the answer may have been cut off"
    count = "no text between ``` fences" if not blocks else f"{blocks} texts between ``` fences"
    return f"it holds {count}; exactly one was asked for"


def _fences(lines: list[str]) -> _Fences:
    matches = ((number, _FENCE.match(line)) for number, line in enumerate(lines) if "```" in line or "~~~" in line)
    return [(number, fence[1], fence[2]) for number, fence in matches if fence is not None]


def _as_markdown(fences: _Fences) -> tuple[list[tuple[int, int]], bool]:
    blocks: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for number, fence, info in fences:
        if opened is None:
            opened = (number, fence)
        elif not info and fence[0] == opened[1][0] and len(fence) >= len(opened[1]):
            blocks.append((opened[0], number))
            opened = None
    return blocks, opened is None


def _with_languages_nested(fences: _Fences) -> list[tuple[int, int]]:
    blocks: list[tuple[int, int]] = []
    opened: list[int] = []
    for number, _, info in fences:
        if not opened or info:
            opened.append(number)
            continue
        first = opened.pop()
        if not opened:
            blocks.append((first, number))
    return blocks if not opened else []


def _is_framed(lines: list[str], fences: _Fences) -> bool:
    """Whether the answer is nothing but what stands between its first fence and its last."""
    outside = lines[: fences[0][0]] + lines[fences[-1][0] + 1 :]
    return not fences[-1][2] and not any(line.strip() for line in outside)
