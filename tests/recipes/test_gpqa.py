"""GPQA as published, in an order of its own."""

from __future__ import annotations

from pathlib import Path

from tests.recipes.shapes import last_sample

from assay.recipes.recipe import find_recipe, write_tasks
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


def test_records_without_an_id_are_numbered(tmp_path: Path) -> None:
    text = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3\n"
    (tmp_path / "gpqa_diamond.csv").write_text(text + "Why?,a,b,c,d\n" * 2)
    recipe = find_recipe("gpqa")
    write_tasks(recipe, tmp_path, tmp_path / "out", variant=None, shots=None, accept_unknown=True)
    [task] = [build_task(each) for each in load_tasks([str(tmp_path / "out")])]
    assert [sample.id for sample in task.dataset] == ["gpqa-000", "gpqa-001"]


def test_the_choices_are_lettered_and_the_target_is_the_letter_of_the_right_one(tmp_path: Path) -> None:
    sample = last_sample("gpqa", tmp_path)
    letter = sample.targets[0]
    assert f"({letter}) because\n" in sample.prompt + "\n"
    assert sample.prompt.startswith("What is the correct answer to this question: Why, 你好?")
