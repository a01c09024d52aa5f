"""HTML as values: text becomes markup only by being escaped, so nothing a model wrote can break out of a page."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape

from assay.printable import printable

_VOID = frozenset({"meta", "br", "hr", "line", "rect", "circle", "path"})


class Html(str):
    """Markup, made by `tag` and `raw` only; any other string is text."""

    __slots__ = ()


Child = str | Html | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element; attribute names are written as in Python: `class_`, `aria_label`, `stroke_width`."""
    said = "".join([_attribute(key, value) for key, value in attributes.items()]) if attributes else ""
    if name in _VOID and not children:
        return Html(f"<{name}{said}/>")
    return Html(f"<{name}{said}>{inside(children)}</{name}>")


def inside(children: Iterable[Child]) -> Html:
    """Children one after the other: markup as it is, text escaped."""
    return Html("".join(map(_child, children)))


def raw(markup: str) -> Html:
    """Markup that assay itself wrote, such as a style sheet."""
    return Html(markup)


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return _short_text(child) if len(child) < _SHORT else escape(printable(child), quote=True)
    return inside(child)


_SHORT = 60


@lru_cache(maxsize=4096)
def _short_text(text: str) -> str:
    """Heads, labels and numbers stand on a page again and again."""
    return escape(printable(text), quote=True)


# a page has a handful of attributes, thousands of times; 1 and True are not the same one
@lru_cache(maxsize=512, typed=True)
def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(printable(shown), quote=True)}"'
