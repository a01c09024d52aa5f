"""How values and names from a file are shown in a message: in JSON's words, short, and without control characters."""

from __future__ import annotations

from collections.abc import Mapping


def kind(value: object) -> str:
    """What JSON calls a value, with the value where it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {show(value)}"
    if isinstance(value, int | float):
        return f"the number {show(value)}"
    return "an object" if isinstance(value, Mapping) else "a list"


def quoted(value: object) -> str:
    """What to write instead of a number where a string is wanted: `, "4"`; nothing for other values."""
    return f', "{show(value)}"' if type(value) in (int, float) else ""


def plain(name: object) -> str:
    """A name without quotes around it."""
    return repr(str(name)[:60])[1:-1]


def show(value: object) -> str:
    """A value as Python writes it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…" + text[-1]
