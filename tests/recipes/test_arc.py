"""ARC after few-shot examples, also where choices have numbers."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_a_question_follows_the_first_ones_of_the_training_file(tmp_path: Path) -> None:
    sample = last_sample("arc", tmp_path)
    assert sample.prompt == "Question: What shines, 3?\nAnswer: moon\n\nQuestion: What shines, 2?\nAnswer:"
    assert sample.targets == ("B",)
