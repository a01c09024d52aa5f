"""Every page opens with what its reader can do after it."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "design"),
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_opens_with_what_its_reader_can_do_after_it(page: Path) -> None:
    title, opening = page.read_text(encoding="utf-8").split("\n\n", 2)[:2]
    assert title.startswith("# ")
    assert opening.startswith(("After this page ", "After this tutorial "))
