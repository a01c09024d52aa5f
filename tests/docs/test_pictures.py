"""The charts of `docs/statistics.md` are those that the commands draw, and all of them are shown."""

from __future__ import annotations

from tests.docs.pictures import FOLDER, pictures


def test_the_pictures_are_those_of_the_pages() -> None:
    made = pictures()
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.svg")} == {
        path.name: text for path, text in made.items()
    }, "`make docs` writes them again"
    shown = (FOLDER.parent / "statistics.md").read_text(encoding="utf-8")
    assert [path.name for path in made if f"(images/{path.name})" not in shown] == []
