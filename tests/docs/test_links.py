"""The pages hang together: every link leads somewhere, every page is led to, every command has an example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assay.cli.main import SUBCOMMANDS

ROOT = Path(__file__).parents[2]
TOP = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
PAGES = sorted([*TOP, *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    return [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not link.startswith(("http", "mailto"))]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), link


def test_every_page_is_led_to() -> None:
    led_to = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page)}
    assert not [page for page in PAGES if page not in led_to and page.name != "README.md"]


@pytest.mark.parametrize("verb", SUBCOMMANDS)
def test_every_command_has_an_example(verb: str) -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES if "reference" not in page.parts]
    assert any(re.search(rf"^(?:\$ )?(?:.*&& )?assay {verb}\b", text, re.MULTILINE) for text in texts)
