"""How far a failed attempt got, so that of several tries the one with the most scores is kept."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol

import msgspec

Reached = tuple[int, float]
"""Whether the attempt has an answer, and how many scores, as one number; and when it ended."""


class Tried(Protocol):
    """As much of a journal line as shows how far its attempt got."""

    @property
    def trace(self) -> object: ...

    @property
    def scores(self) -> Sized: ...

    @property
    def finished(self) -> float | None: ...


class _Line(msgspec.Struct):
    trace: dict[str, msgspec.Raw] | None = None
    scores: list[msgspec.Raw] = []
    finished: float | None = None


_decode = msgspec.json.Decoder(_Line).decode


def reached_by(line: Tried) -> Reached:
    return (line.trace is not None) + len(line.scores), line.finished or 0.0


def reached_in(line: bytes) -> Reached:
    """Of a line that has not been decoded as far as that."""
    try:
        return reached_by(_decode(line))
    except msgspec.MsgspecError:  # whoever needs the rest of the line refuses it
        return 0, 0.0
