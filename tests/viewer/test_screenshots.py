"""The pictures of the documentation: eight pages, taken by this suite, small enough to be kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.viewer.screenshots import FOLDER, LARGEST, PLACES, REPORT, make_runs, take
from tests.viewer.served import viewing

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

NAMES = sorted([*PLACES, REPORT])
SMALLEST = 8_000
"""Bytes: a picture of an empty page has fewer."""


def test_every_page_gives_a_picture_of_bounded_size(browser: str, tmp_path: Path) -> None:
    runs = make_runs(tmp_path / "runs", each=12)
    with viewing(runs) as viewer:
        made = take(browser, viewer, runs, tmp_path / "images")
    assert sorted(path.stem for path in made) == NAMES
    assert {path.name: path.stat().st_size for path in made if not SMALLEST < path.stat().st_size < LARGEST} == {}


def test_the_pictures_that_are_kept_are_small_and_shown() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.webp")) == NAMES
    assert [path.name for path in FOLDER.iterdir() if path.stat().st_size > LARGEST] == []
    shown = (FOLDER.parent / "viewer.md").read_text(encoding="utf-8")
    assert [name for name in NAMES if f"(images/{name}.webp)" not in shown] == []
