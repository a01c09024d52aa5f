"""HTML as values: text becomes markup only by being escaped, so nothing a model wrote can break out of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape

from assay.text.printable import INVISIBLE, printable

VOID = frozenset({"meta", "br", "hr", "line", "rect", "circle", "path"})


class Html(str):
    """Markup, made by `tag`, `rows` and their like only; any other string is text."""

    __slots__ = ()


Child = str | Html | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element; attribute names are written as in Python: `class_`, `aria_label`, `stroke_width`."""
    attribute_text = ""
    for key, value in attributes.items():
        attribute_text += _attribute(key, value)
    if not children and name in VOID:
        return Html(f"<{name}{attribute_text}/>")
    within = _child(children[0]) if len(children) == 1 else "".join(map(_child, children))
    return Html(f"<{name}{attribute_text}>{within}</{name}>")


def inside(children: Iterable[Child]) -> Html:
    """Children one after the other: markup as it is, text escaped."""
    return Html("".join(map(_child, children)))


def rows(openings: Sequence[str], cells: Iterable[Sequence[Child]]) -> Html:
    """Rows of a table, of which pages have thousands; each cell with the tag that opens it, as in `<td class="n">`."""
    pattern = "".join([f"{opening.replace('%', '%%')}%s</{opening[1:3]}>" for opening in openings])
    pattern = f"<tr>{pattern}</tr>"
    return Html("".join([pattern % tuple(map(_child, cell)) for cell in cells]))


def filled(pattern: str, *children: Child) -> Html:
    """Markup that assay itself wrote, which many places of a page share, with a child for each `%s`."""
    return Html(pattern % tuple(map(_child, children)))


def raw(markup: str) -> Html:
    """Markup that assay itself wrote, such as a style sheet."""
    return Html(markup)


def _child(child: Child) -> str:
    if type(child) is Html:
        return child
    if isinstance(child, str):  # as `escaped` does, without a call for each of thousands
        return _escaped_short(child) if len(child) < _SHORT else _escaped(child)
    return "" if child is None else "".join(map(_child, child))


def escaped(text: str) -> str:
    """Text as it stands in markup, between elements and in attributes."""
    return _escaped_short(text) if len(text) < _SHORT else _escaped(text)


_SHORT = 60
_TO_ESCAPE = re.compile(f"[&<>\"'{INVISIBLE}]")


def _escaped(text: str) -> str:
    return escape(printable(text), quote=True) if _TO_ESCAPE.search(text) else text


_escaped_short = lru_cache(maxsize=4096)(_escaped)
"""Headings, labels and numbers repeat on a page."""


# a page has a handful of attributes, thousands of times; 1 and True are not the same one
@lru_cache(maxsize=512, typed=True)
def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{escaped(shown)}"'
