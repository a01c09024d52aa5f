"""What the proposer reads about one evaluation: the most telling first, everything cut to its share, nothing dropped.

Score and side information come first, then the output, then the example. A record larger than its room is cut where
it is large: each value keeps its head and its tail, and says how much is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from assay.optimize.evaluations import ScoreOrFailure
from assay.optimize.search_settings import ROOM
from assay.optimize.sets import SetExample

FAILURE_ROOM = 2000
"""Characters of what a rejected text failed with."""
OUTPUTS = ("output", "prediction", "response", "answer", "completion")
"""What evaluators call what the candidate led to."""
_SHARES = (("seen", 0.5), ("output", 0.2), ("example", 0.3))
_GAP = object()
_SMALLEST = 80
"""A shorter piece of a list is useless: fewer pieces are shown instead."""


def feedback(outcome: ScoreOrFailure, example: SetExample, room: int = ROOM) -> tuple[str, bool]:
    """One record as Markdown, limited to about this many characters, and whether something was cut."""
    head: dict[str, Any] = (
        {"error": outcome.failure.message} if outcome.failure is not None else {"score": outcome.score}
    )
    if outcome.repeats:
        head["scores of repeated evaluations"] = ", ".join(f"{score:.4g}" for score in outcome.repeats)
    outputs = {name: value for name, value in outcome.side_info.items() if name in OUTPUTS}
    seen = {name: value for name, value in outcome.side_info.items() if name not in outputs and name != "score"}
    parts = {"seen": seen, "output": outputs, "example": {} if example.record is None else {"example": example.record}}
    if "example" in seen:
        parts["example"] = {}
    whole = rendered({**head, **parts["seen"], **parts["output"], **parts["example"]})
    if len(whole) <= room:
        return whole, False
    top = _fitted(head, room // 2)
    rooms = _rooms({name: _size(part) for name, part in parts.items()}, max(0, room - _size(top)))
    shown = {name: _fitted(part, rooms[name]) for name, part in parts.items()}
    cut = top != head or shown != parts
    return rendered({**top, **shown["seen"], **shown["output"], **shown["example"]}), cut


def failure_in_words(outcome: ScoreOrFailure, room: int = FAILURE_ROOM) -> str:
    """What a failed evaluation said and what was seen of it, limited to about this many characters."""
    message = _cut(outcome.failure.message, room // 2) if outcome.failure is not None else ""
    more = {name: value for name, value in outcome.side_info.items() if str(value) not in message}
    seen = _fitted(more, room - len(message)) if more else {}
    return f"{message}\n\n{rendered(seen, 4)}".strip()


def shortened(record: dict[str, Any], room: int) -> dict[str, Any]:
    """The record in about this many characters: cut where it is large, with a note of what is missing."""
    short: dict[str, Any] = _fitted(record, room)
    return short


def rendered(record: Mapping[str, Any], level: int = 2) -> str:
    """A record as Markdown: a heading for each name and item."""
    heading = "#" * level
    return "".join([f"{heading} {name}\n{_rendered(value, level + 1)}" for name, value in record.items()])


def output_of(side_info: Mapping[str, Any]) -> str | None:
    """What the candidate led to, where the evaluator says so."""
    for name in OUTPUTS:
        if name in side_info:
            value = side_info[name]
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    return None


def _rendered(value: Any, level: int) -> str:
    if isinstance(value, str):  # as most are
        return f"{value.strip()}\n\n"
    if isinstance(value, dict):
        return rendered(value, min(level, 6)) or "\n"
    if isinstance(value, list | tuple):
        return rendered({f"Item {number}": each for number, each in enumerate(value, 1)}, min(level, 6)) or "\n"
    return f"{str(value).strip()}\n\n"


def _rooms(sizes: Mapping[str, int], room: int) -> dict[str, int]:
    """Each part's own share, and what others leave of theirs, the first ones first."""
    rooms = {name: min(sizes[name], int(room * share)) for name, share in _SHARES}
    left = room - sum(rooms.values())
    for name, size in sizes.items():
        more = min(left, size - rooms[name])
        rooms[name] += more
        left -= more
    return rooms


def _fitted(value: Any, room: int) -> Any:
    """The value in about this many characters of Markdown."""
    if _size(value) <= room:
        return value
    if isinstance(value, dict):
        names = _ends(list(value), room)
        rest = room - sum(len(str(name)) + 8 for name in names)
        rooms = _water_fill([0 if name is _GAP else _size(value[name]) for name in names], rest)
        left_out = f"{len(value) - len(names) + 1} of {len(value)} entries left out"
        shown = zip(names, rooms, strict=True)
        return dict(("…", left_out) if name is _GAP else (name, _fitted(value[name], share)) for name, share in shown)
    if isinstance(value, list | tuple):
        items = _ends(list(value), room)
        rooms = _water_fill([0 if item is _GAP else _size(item) for item in items], room - 16 * len(items))
        left_out = f"… {len(value) - len(items) + 1} of {len(value)} items left out …"
        return [left_out if each is _GAP else _fitted(each, share) for each, share in zip(items, rooms, strict=True)]
    return _cut(str(value), room)


def _ends(pieces: list[Any], room: int) -> list[Any]:
    """All pieces, or as many from both ends as have room to tell something, and a gap in between."""
    most = max(2, room // _SMALLEST)
    if len(pieces) <= most:
        return pieces
    head = (most + 1) // 2
    return [*pieces[:head], _GAP, *pieces[len(pieces) - (most - head) :]]


def _water_fill(sizes: Sequence[int], room: int) -> list[int]:
    """How much each may take: small ones all they need, large ones an equal share of the rest."""
    rooms = [0] * len(sizes)
    left = max(0, room)
    order = sorted(range(len(sizes)), key=lambda at: sizes[at])
    for done, at in enumerate(order):
        rooms[at] = min(sizes[at], left // (len(sizes) - done))
        left -= rooms[at]
    return rooms


def _cut(text: str, room: int) -> str:
    """Head and tail of a text, and how much is missing between them."""
    note = f" … ({len(text)} characters in total) … "
    keep = max(20, room - len(note))
    if len(text) <= keep + len(note):
        return text
    tail = keep // 3
    return f"{text[: keep - tail]}{note}{text[len(text) - tail :]}"


def _size(value: Any) -> int:
    """About how many characters a value takes as Markdown."""
    if isinstance(value, dict):
        return sum(len(str(name)) + 8 + _size(each) for name, each in value.items())
    if isinstance(value, list | tuple):
        return sum(16 + _size(item) for item in value)
    return len(value) if isinstance(value, str) else len(str(value))
