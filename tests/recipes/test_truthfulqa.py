"""TruthfulQA after the preset next to the data: one true answer, and all of them together."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recipes.shapes import tasks_made

from assay.recipes.truthfulqa import _preset


def test_the_preset_stands_before_the_question_of_both_tasks(tmp_path: Path) -> None:
    first, second = (next(iter(task.dataset)) for task in tasks_made("truthfulqa", tmp_path))
    assert first.prompt == second.prompt == "Q: One?\nA: One.\n\nQ: Is it so?\nA:"
    assert (first.targets, second.targets) == (("Yes, it is.",), ("Yes, it is.", "It is."))
    assert second.extras["choices"] == ["Yes, it is.", "It is.", "No."]


def test_the_preset_is_read_from_the_published_python_without_running_it() -> None:
    assert _preset('raise SystemExit\nQA_PRIMER = """Q: One?\nA: One."""\n') == "Q: One?\nA: One."
    with pytest.raises(ValueError, match="no QA_PRIMER"):
        _preset("x = 1")
    with pytest.raises(ValueError, match="malformed node"):
        _preset("QA_PRIMER = open('/etc/passwd').read()")
