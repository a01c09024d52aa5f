"""The elements of a drawing as values: markup for a page, or plain lists that the viewer builds its own nodes of."""

from __future__ import annotations

from typing import Any, NamedTuple

from assay.reports.html.element import Html, tag

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
    return Drawn(name, known, tuple(child for child in children if child is not None))


def markup(found: Drawn | str) -> Html:
    """For a page: text escaped."""
    if isinstance(found, str):
        return tag("text", found)
    children = [child if isinstance(child, str) else markup(child) for child in found.children]
    return tag(found.name, children, **found.attributes)


def plain(found: Drawn | str) -> Any:
    """For the viewer: `[name, attributes, children]`, texts as they are."""
    if isinstance(found, str):
        return found
    return [found.name, found.attributes, [plain(child) for child in found.children]]


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
