"""How wide text is on a terminal, and where to cut or break it: in columns, not in characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

ELLIPSIS = "…"


def width_of(text: str) -> int:
    """Columns that the text takes: two for wide characters, none for combining marks."""
    return len(text) if text.isascii() else sum(map(_character, text))


def cut(text: str, width: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if width_of(text) <= width:
        return text
    return text[: _end_within(text, 0, width - 1)] + ELLIPSIS if width > 0 else ""


def cut_apart(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Each text cut to its width; in the middle where two would look the same, numbered where they still do."""
    at_end = [cut(text, width) for text, width in zip(texts, widths, strict=True)]
    if _are_apart(texts, at_end):
        return at_end
    in_middle = [_cut_in_middle(text, width) for text, width in zip(texts, widths, strict=True)]
    if _are_apart(texts, in_middle):
        return in_middle
    places = {text: f"{place} " for place, text in enumerate(dict.fromkeys(texts), 1)}
    return [
        shown if in_middle.count(shown) == 1 or width_of(text) <= width else cut(places[text] + text, width)
        for text, shown, width in zip(texts, in_middle, widths, strict=True)
    ]


def _are_apart(texts: Sequence[str], shown: Sequence[str]) -> bool:
    return len(set(zip(texts, shown, strict=True))) == len(set(shown))


def _cut_in_middle(text: str, width: int) -> str:
    if width_of(text) <= width or width < 3:
        return cut(text, width)
    end = text[-((width - 1) // 2) :]
    return text[: _end_within(text, 0, width - 1 - width_of(end))] + ELLIPSIS + end


def line_breaks(text: str, width: int) -> list[tuple[int, int]]:
    """Start and end of lines of at most this many columns, broken at spaces where possible."""
    lines, start, room = [], 0, max(width, 1)
    while True:
        end = _end_within(text, start, room)
        if end < len(text):
            space = text.rfind(" ", start, end + 1)
            end = space if space > start else max(end, start + 1)
        lines.append((start, end))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        if start >= len(text):
            return lines


def broken_at_words(line: str, width: int) -> str:
    """The line as several of at most this many columns, indented alike; a longer word keeps a line of its own."""
    if width_of(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip(" "))]
    lines = [indent]
    for word in line[len(indent) :].split(" "):
        longer = lines[-1] + word if lines[-1] == indent else f"{lines[-1]} {word}"
        if width_of(longer) <= width or lines[-1] == indent:
            lines[-1] = longer
        else:
            lines.append(indent + word)
    return "\n".join(each.rstrip(" ") for each in lines)


def _end_within(text: str, start: int, width: int) -> int:
    """The end of the longest part from `start` that fits, including combining marks."""
    used = 0
    for position in range(start, len(text)):
        used += _character(text[position])
        if used > width:
            return position
    return len(text)


@lru_cache(maxsize=4096)
def _character(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
