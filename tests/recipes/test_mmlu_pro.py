"""MMLU-Pro step by step, one task per category, from JSON lines and from Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recipes.shapes import last_sample, mmlu_pro, tasks_made

from assay.recipes.recipe import find_recipe, write_tasks


def test_a_question_follows_worked_ones_of_its_category(tmp_path: Path) -> None:
    sample = last_sample("mmlu-pro", tmp_path)
    assert sample.prompt.startswith("The following are multiple choice questions (with answers) about law.")
    assert sample.prompt.count("Options:\nA. choice 0\n") == 2
    assert sample.prompt.endswith("I. choice 8\nAnswer: Let's think step by step.")


def test_it_is_read_from_parquet_too(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    for split in ("test", "validation"):
        table = pyarrow.Table.from_pylist([mmlu_pro(1, "law")])
        parquet.write_table(table, tmp_path / f"{split}-00000-of-00001.parquet")
    recipe = find_recipe("mmlu-pro")
    counts = write_tasks(recipe, tmp_path, tmp_path / "out", variant=None, shots=None, accept_unknown=True)
    assert counts == {"mmlu-pro-law": 1}


def test_the_task_of_every_category_names_its_files_and_marks_its_samples(tmp_path: Path) -> None:
    for task in tasks_made("mmlu-pro", tmp_path, shots=0):
        head = (tmp_path / "tasks" / f"{task.name}.jsonl").read_text().partition("\n")[0]
        assert "from test.jsonl sha256" in head
        assert [sample.metadata["source_published"] for sample in task.dataset] == [False]
