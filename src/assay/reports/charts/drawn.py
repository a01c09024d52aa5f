"""The elements of a drawing as values: markup for a page, or plain lists that the viewer builds its own nodes of."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from assay.reports.html.element import VOID, Html, escaped, tag

ELEMENTS = frozenset({"svg", "g", "rect", "line", "path", "circle", "text", "tspan", "title", "desc"})
"""All that a chart is made of; the viewer refuses any other."""


class Drawn(NamedTuple):
    """One element."""

    name: str
    attributes: dict[str, str]
    children: tuple[Drawn | str, ...] = ()


def node(name: str, /, *children: Drawn | str | None, **attributes: str | float | None) -> Drawn:
    """An element; attribute names are written as in Python: `class_`, `stroke_width`, `viewBox`."""
    if name not in ELEMENTS:
        raise ValueError(f"a chart is not made of <{name}>")
    known = {_name(key): _text(value) for key, value in attributes.items() if value is not None}
    return Drawn(name, known, tuple([child for child in children if child is not None]))


def markup(found: Drawn | str) -> Html:
    """For a page: text escaped."""
    return tag("text", found) if isinstance(found, str) else Html(_markup(found))


def _markup(found: Drawn | str) -> str:
    if isinstance(found, str):
        return escaped(found)
    name, attributes, children = found
    said = "".join([f' {key}="{escaped(value)}"' for key, value in attributes.items()])
    if not children and name in VOID:
        return f"<{name}{said}/>"
    return f"<{name}{said}>{''.join(map(_markup, children))}</{name}>"


def plain(found: Drawn | str) -> Any:
    """For the viewer: `[name, attributes, children]`, texts as they are."""
    if isinstance(found, str):
        return found
    return [found.name, found.attributes, [plain(child) for child in found.children]]


@cache  # of the attributes that charts have
def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    text = f"{value:.2f}"
    return text if text[-1] != "0" else text.rstrip("0").rstrip(".")
