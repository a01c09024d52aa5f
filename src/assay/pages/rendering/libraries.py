"""Which libraries a page needs to render its texts: a page carries no others, and none where all are plain."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources

# as render.js has them: a text with none of these signs, and that is no JSON, stays as it is
MARKDOWN = re.compile(r"^ {0,3}(#{1,6} |[-*+] |\d+[.)] |>|~~~|\|)|\*\*|__|`|\[[^\]]+\]\(", re.MULTILINE)
MATHS = re.compile(r"\$\$|\\\(|\\\[|\\begin\{|\$[^$\s]([^$\n]*[^$\s])?\$(?!\d)")
PYTHON = re.compile(r"^\s*((async )?def \w+\(|class \w+[(:]|from [\w.]+ import |import [\w.]+( as \w+)?\s*(\n|$))")
_DATA = re.compile(r"\s*[{\[]")
_FENCE = re.compile(r"(```|~~~)[`~]* *\w")


def libraries_for(texts: Iterable[str]) -> list[str] | None:
    """File names in `vendor`; None where nothing has to be rendered."""
    needed: set[str] = set()
    is_rendered = False
    for text in texts:
        has_maths, is_program = MATHS.search(text), PYTHON.match(text)
        is_markdown = has_maths or MARKDOWN.search(text)
        is_rendered |= bool(is_markdown or is_program or _DATA.match(text))
        if is_markdown:
            needed.add("markdown-it.min.js")
        if has_maths:
            needed.add("katex.min.js")
        if is_program or _FENCE.search(text):
            needed.add("highlight.min.js")
    return sorted(needed) if is_rendered else None


def library(name: str) -> str:
    return (resources.files(__package__) / "vendor" / name).read_text(encoding="utf-8")


def modules() -> dict[str, str]:
    """The scripts that turn what the libraries read into elements."""
    folder = resources.files(__package__)
    return {name: (folder / f"{name}.js").read_text(encoding="utf-8") for name in ("dom", "kept", "render")}


def style_sheet() -> str:
    return (resources.files(__package__) / "rendered.css").read_text(encoding="utf-8")
