"""TruthfulQA after the preset beside the data."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_the_preset_stands_before_the_question(tmp_path: Path) -> None:
    sample = last_sample("truthfulqa", tmp_path)
    assert sample.prompt == "Q: One?\nA: One.\n\nQ: Is it so?\nA:"
    assert sample.targets == ("Yes, it is.",)
