"""The examples in the repository are good files, and their tables say what the rules say."""

from __future__ import annotations

from pathlib import Path

from assay.formats.frozen_spec.reader import read_spec_file
from assay.formats.frozen_spec.rules import CATEGORIES, LEGAL_METRICS, LEGAL_POST_PROCESS
from assay.tasks.load import load_tasks

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_frozen_spec_example_has_a_task_of_each_category() -> None:
    suite = read_spec_file(EXAMPLES / "frozen_spec" / "tasks.jsonl", allow_bad=False)
    assert [task.name for task in suite] == list(CATEGORIES)


def test_the_task_folder_example_has_a_task_per_file() -> None:
    folder = EXAMPLES / "task_folder"
    assert [task.name for task in load_tasks([str(folder)])] == sorted(path.stem for path in folder.glob("*.jsonl"))


def test_the_readme_lists_the_legal_pairs() -> None:
    readme = (EXAMPLES / "frozen_spec" / "README.md").read_text()
    for category in CATEGORIES:
        row = next(line for line in readme.splitlines() if line.startswith(f"| `{category}`"))
        metrics = ", ".join(f"`{word}`" for word in LEGAL_METRICS[category])
        rules = ", ".join(f"`{word}`" for word in LEGAL_POST_PROCESS[category])
        assert row.endswith(f"| {metrics} | {rules} |")
