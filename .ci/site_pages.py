"""Hooks of the docs site: pages of the repository's top become pages of it, and links lead where the site has them.

A link that leads to something the site does not hold (source code, examples) becomes plain text. A code block that
names its file (`python my_model.py`) has the name as its title.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TOP_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
"""Where a page stands in the repository, and where on the site."""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
CODE = re.compile(r"^(`{3,}).*?^\1[ \t]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
FILE_BLOCK = re.compile(r"^(`{3,}\w+) (\S+)$", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    for source, place in TOP_PAGES.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Files, **_: Any) -> str:
    on_site = page.file.src_uri
    source = next((top for top, place in TOP_PAGES.items() if place == on_site), f"docs/{on_site}")

    def link(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        text = LINK.sub(link, text)  # an image that is a link
        path, anchor = [*target.split("#", 1), ""][:2]
        if "://" in target or target.startswith("mailto:") or not path:
            return match.group(0)
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = TOP_PAGES.get(there, there.removeprefix("docs/"))
        if (there not in TOP_PAGES and not there.startswith("docs/")) or files.get_file_from_path(place) is None:
            return match.group(0) if there.startswith("docs/") else text
        relative = posixpath.relpath(place, posixpath.dirname(on_site) or ".")
        return f"{image}[{text}]({relative}{'#' + anchor if anchor else ''})"

    return FILE_BLOCK.sub(r'\1 title="\2"', outside_code(markdown, lambda text: LINK.sub(link, text)))


def on_page_content(html: str, *, page: Any, **_: Any) -> None:
    if "<p>```" in html:
        raise PluginError(f"{page.file.src_uri}: a code block is not rendered as one")


def outside_code(markdown: str, change: Any) -> str:
    """The text with a change made to everything but code; a link's text may hold code itself."""
    spans: list[str] = []

    def hide(match: re.Match[str]) -> str:
        spans.append(match.group(0))
        return f"\0{len(spans) - 1}\0"

    changed = change(CODE.sub(hide, markdown))
    return re.sub("\0(\\d+)\0", lambda match: spans[int(match.group(1))], changed)
