"""AIME asks for a box and counts the number."""

from __future__ import annotations

import json
from pathlib import Path

from tests.recipes.shapes import last_sample

from assay.recipes.recipe import find_recipe, write_tasks
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


def test_problems_of_several_exams_keep_their_own_ids(tmp_path: Path) -> None:
    for year in (2024, 2025):
        line = json.dumps({"id": 0, "problem": "Count.", "answer": year % 1000})
        (tmp_path / f"aime{year}.jsonl").write_text(line + "\n")
    recipe = find_recipe("aime")
    write_tasks(recipe, tmp_path, tmp_path / "out", variant=None, shots=None, accept_unknown=True)
    [task] = [build_task(each) for each in load_tasks([str(tmp_path / "out")])]
    assert [sample.id for sample in task.dataset] == ["aime2024-0", "aime2025-0"]


def test_leading_zeros_are_no_part_of_the_answer(tmp_path: Path) -> None:
    sample = last_sample("aime", tmp_path)
    assert (sample.id, sample.targets) == ("2024-I-1", ("33",))
    assert sample.prompt.endswith("\\boxed{}.")
