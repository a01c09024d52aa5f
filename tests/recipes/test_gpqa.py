"""GPQA as published, in an order of its own."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_the_choices_are_lettered_and_the_target_is_the_letter_of_the_right_one(tmp_path: Path) -> None:
    sample = last_sample("gpqa", tmp_path)
    letter = sample.targets[0]
    assert f"({letter}) because\n" in sample.prompt + "\n"
    assert sample.prompt.startswith("What is the correct answer to this question: Why, 你好?")
