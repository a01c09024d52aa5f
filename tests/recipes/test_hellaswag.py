"""HellaSwag without the marks it was scraped with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recipes.shapes import FILES, last_sample

from assay.core.errors import UsageError
from assay.recipes.recipe import find_recipe, write_tasks


def test_a_scene_is_prompted_without_marks(tmp_path: Path) -> None:
    sample = last_sample("hellaswag", tmp_path)
    assert sample.prompt.endswith("\n\nCooking: A man cuts an onion fast. He")
    assert sample.extras["choices"][1] == "flies. up."


def test_without_the_training_file_the_error_names_the_flag(tmp_path: Path) -> None:
    (tmp_path / "hellaswag_val.jsonl").write_text(FILES["hellaswag"]["hellaswag_val.jsonl"])
    recipe, options = find_recipe("hellaswag"), {"variant": None, "accept_unknown": True}
    with pytest.raises(UsageError, match=r"none of hellaswag_train.jsonl is here, .* or use --num-fewshot 0"):
        write_tasks(recipe, tmp_path, tmp_path / "out", shots=None, **options)  # type: ignore[arg-type]
    assert write_tasks(recipe, tmp_path, tmp_path / "out", shots=0, **options) == {"hellaswag": 1}  # type: ignore[arg-type]
