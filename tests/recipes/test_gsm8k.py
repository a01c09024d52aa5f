"""GSM8K: few-shot examples first, targets are plain numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.recipes.recipe import find_recipe, write_tasks
from assay.tasks.built_tasks import build_task
from assay.tasks.load import load_tasks


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    lines = [{"question": f"What is {n} + {n}?", "answer": f"{n} + {n} = {2 * n}.\n#### {2 * n:,}"} for n in (3, 700)]
    (folder / "test.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, lines[:1])))
    return folder


def test_few_shot_examples_come_first_and_targets_are_plain_numbers(sums: Path, tmp_path: Path) -> None:
    write_tasks(find_recipe("gsm8k"), sums, tmp_path / "out", variant=None, shots=1, accept_unknown=True)
    (definition,) = load_tasks([str(tmp_path / "out")])
    first, second = build_task(definition).dataset
    assert first.prompt.startswith("Question: What is 3 + 3?\nAnswer: 3 + 3 = 6.\n#### 6\n\nQuestion: What is 3 + 3?")
    assert second.targets == ("1400",)
