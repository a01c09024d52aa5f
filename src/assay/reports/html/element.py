"""HTML as values: text becomes markup only by being escaped, so nothing a model wrote can break out of a page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"meta", "br", "hr", "line", "rect", "circle", "path"})


class Html(str):
    """Markup, made by `tag` and `raw` only; any other string is text."""

    __slots__ = ()


Child = str | Html | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: str | float | bool | None) -> Html:
    """An element; attribute names are written as in Python: `class_`, `aria_label`, `stroke_width`."""
    said = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not children:
        return Html(f"<{name}{said}/>")
    return Html(f"<{name}{said}>{inside(children)}</{name}>")


def inside(children: Iterable[Child]) -> Html:
    """Children one after the other: markup as it is, text escaped."""
    return Html("".join(_child(child) for child in children))


def raw(markup: str) -> Html:
    """Markup that assay itself wrote, such as a style sheet."""
    return Html(markup)


def visible(text: str) -> str:
    """Text without characters that a page cannot show or that reorder what surrounds them."""
    return "".join(_VISIBLE.get(c, c) if c in _VISIBLE or c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


# invisible characters that turn text around, shown by name instead
_VISIBLE = {chr(code): f"[U+{code:04X}]" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F)}


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(visible(child), quote=True)
    return inside(child)


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(shown, quote=True)}"'
