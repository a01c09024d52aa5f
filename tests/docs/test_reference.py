"""The generated reference pages say what the code says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.generate import pages

PAGES = pages()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_page_is_what_the_code_says(path: Path) -> None:
    assert path.exists(), "run `make docs`"
    assert path.read_text(encoding="utf-8") == PAGES[path], "stale: run `make docs`"
