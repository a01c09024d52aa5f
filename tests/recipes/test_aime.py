"""AIME asks for a box and counts the number."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_leading_zeros_are_no_part_of_the_answer(tmp_path: Path) -> None:
    sample = last_sample("aime", tmp_path)
    assert (sample.id, sample.targets) == ("2024-I-1", ("33",))
    assert sample.prompt.endswith("\\boxed{}.")
