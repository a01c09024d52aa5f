"""The elements of a drawing as values: markup for a page, or plain lists that the viewer builds its own nodes of."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from assay.pages.html.element import VOID, Html, escaped, tag

ELEMENTS = frozenset({"svg", "g", "rect", "line", "path", "circle", "text", "tspan", "title", "desc"})
"""All that a chart is made of; the viewer refuses any other."""


class Drawn(Struct, frozen=True, gc=False):
    name: str
    attributes: dict[str, str]
    children: tuple[Drawn | str, ...] = ()


def node(name: str, /, *children: Drawn | str | None, **attributes: str | float | None) -> Drawn:
    """An element; attribute names are written as in Python: `class_`, `stroke_width`, `viewBox`."""
    if name not in ELEMENTS:
        raise ValueError(f"a chart is not made of <{name}>")
    texts: dict[str, str] = {}
    for key, value in attributes.items():
        if value is not None:
            texts[_name(key)] = value if isinstance(value, str) else _number(value)
    return Drawn(name, texts, tuple([child for child in children if child is not None]))


def markup(drawn: Drawn | str) -> Html:
    """For a page: text escaped."""
    return tag("text", drawn) if isinstance(drawn, str) else Html(_markup(drawn))


def _markup(drawn: Drawn) -> str:
    name = drawn.name
    attributes = "".join([f' {key}="{escaped(value)}"' for key, value in drawn.attributes.items()])
    if not drawn.children and name in VOID:
        return f"<{name}{attributes}/>"
    within = [escaped(child) if isinstance(child, str) else _markup(child) for child in drawn.children]
    return f"<{name}{attributes}>{''.join(within)}</{name}>"


def plain(drawn: Drawn | str) -> Any:
    """For the viewer: `[name, attributes, children]`, texts as they are."""
    if isinstance(drawn, str):
        return drawn
    return [drawn.name, drawn.attributes, [plain(child) for child in drawn.children]]


@cache  # of the attributes that charts have
def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


@lru_cache(maxsize=4096)  # a mark has its place and its size several times
def _number(value: float) -> str:
    text = f"{value:.2f}"
    return text if text[-1] != "0" else text.rstrip("0").rstrip(".")
