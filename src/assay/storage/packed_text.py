"""A long text as what it shares with texts that are stored anyway: a prompt as it was sent, next to the messages.

pack("<s>user: What is six times seven?", ["What is six times seven?"])   ->   ("<s>user: ", (0, 0, 24))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

_T = TypeVar("_T")

PackedText = tuple[str | tuple[int, int, int], ...]
"""Pieces in order: a text of its own, or (number of the source, begin, end)."""

LEAST_SHARED = 16
"""Characters: a shorter piece is stored as it is."""


def with_packed_texts(trace: _T) -> _T:
    """A trace of `core.types` whose answers no longer hold the prompts that were sent for them: it does, packed."""
    record: Any = trace
    answers: Sequence[Any] = record.completions
    texts: list[str | None] = [answer.sent for answer in answers]
    if all(text is None for text in texts):
        return trace
    sources = sources_of(record.prompt, (message.content for message in record.messages or ()))
    sent = (None if text is None else pack(text, sources) for text in (texts if len(set(texts)) > 1 else texts[:1]))
    bare = tuple(replace(answer, sent=None) for answer in answers)
    packed: _T = replace(record, completions=bare, sent=tuple(sent))
    return packed


def sources_of(prompt: object, contents: Iterable[object]) -> list[str]:
    """The texts that a packed one may refer to: a trace's prompt, then the contents of its messages."""
    return [text if isinstance(text, str) else "" for text in (prompt, *contents)]


def pack(text: str, sources: Sequence[str]) -> PackedText:
    """The text in pieces; sources are expected in the order in which they occur in it."""
    pieces: list[str | tuple[int, int, int]] = []
    at = 0
    for number, source in enumerate(sources):
        begin, start, end = _shared(text, at, source)
        if end - start < LEAST_SHARED:
            continue
        if begin > at:
            pieces.append(text[at:begin])
        pieces.append((number, start, end))
        at = begin + end - start
    return (*pieces, text[at:]) if at < len(text) or not pieces else tuple(pieces)


def unpack(packed: Any, sources: Sequence[str]) -> str | None:
    """The whole text; None where the pieces do not fit the sources, as in a damaged file."""
    texts: list[str] = []
    for piece in _list(packed) or [None]:
        match piece:
            case str():
                texts.append(piece)
            case [int(number), int(begin), int(end)] if 0 <= number < len(sources):
                texts.append(sources[number][begin:end])
            case _:
                return None
    return "".join(texts)


def sent_texts(trace: Mapping[str, Any]) -> list[str]:
    """The different texts that were really sent for the answers of a trace, as plain data."""
    contents = (item.get("content") if isinstance(item, dict) else None for item in _list(trace.get("messages")))
    sources = sources_of(trace.get("prompt"), contents)
    texts = (unpack(item, sources) for item in _list(trace.get("sent")))
    return list(dict.fromkeys(text for text in texts if text is not None))


def _shared(text: str, at: int, source: str) -> tuple[int, int, int]:
    """Where a part of the source is in the text, from `at` on, and which part: all of it, its end or its beginning."""
    if (begin := text.find(source, at)) >= 0:
        return begin, 0, len(source)
    whole = source.strip()  # as templates strip a message
    if (begin := text.find(whole, at)) >= 0:
        start = source.find(whole)
        return begin, start, start + len(whole)
    tail, end = whole[-LEAST_SHARED:], len(source.rstrip())
    ends: list[tuple[int, int]] = []
    for found in {text.find(tail, at), text.rfind(tail, at)} - {-1}:  # the end of one question is that of many
        stop = found + len(tail)
        ends.append((_common_end(text[at:stop], source[:end]), stop))
    if ends:
        length, stop = max(ends)
        return stop - length, end - length, end
    length = _most(lambda count: text[at : at + count] == source[:count], min(len(text) - at, len(source)))
    return at, 0, length


def _common_end(one: str, other: str) -> int:
    """How many characters both texts end with."""
    return _most(lambda count: one[-count:] == other[-count:], min(len(one), len(other)))


def _most(holds: Callable[[int], bool], most: int) -> int:
    """The largest count that holds, of counts that hold up to some point."""
    low = 0
    while low < most:
        middle = (low + most + 1) // 2
        low, most = (middle, most) if holds(middle) else (low, middle - 1)
    return low


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
