"""HellaSwag without the marks it was scraped with."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_a_scene_is_asked_without_marks(tmp_path: Path) -> None:
    sample = last_sample("hellaswag", tmp_path)
    assert sample.prompt.endswith("\n\nCooking: A man cuts an onion fast. He")
    assert sample.extras["choices"][1] == "flies. up."
