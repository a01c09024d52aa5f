"""WinoGrande by what follows the blank."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample


def test_each_option_is_a_context_of_the_rest(tmp_path: Path) -> None:
    sample = last_sample("winogrande", tmp_path)
    before = "Ann thanked Eve because Eve had helped.\n\nAnn thanked Eve because "
    assert sample.extras["contexts"] == [before + "Ann", before + "Eve"]
    assert sample.extras["continuation"] == "had helped."
