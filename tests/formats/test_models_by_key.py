"""Keys of `--model-for` that no task has."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.core.errors import UsageError
from assay.formats.models_by_key import ModelsByKey
from assay.tasks.load import load_tasks


def test_a_key_that_nobody_asked_for_is_refused_with_the_nearest() -> None:
    models = ModelsByKey({"jugde": "toy"})
    assert "judge" not in models
    assert models.get("grader") is None
    with pytest.raises(UsageError, match=r"--model-for jugde: no task here has .* Did you mean `judge`"):
        models.refuse_unused()


def test_a_model_that_is_no_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="models: behind the key `judge` is the name of a model, not function; your"):
        load_tasks([str(tmp_path)], models={"judge": lambda prompt: "x"})  # type: ignore[dict-item]


def test_a_key_that_was_asked_for_is_used() -> None:
    models = ModelsByKey({"judge": "toy"})
    assert models.get("judge") == "toy"
    models.refuse_unused()


def test_a_misspelt_judge_is_refused_before_the_one_of_the_file_is_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.jsonl").write_text('{"id": "1", "prompt": "p", "targets": ["x"], "metric": "exact_match"}\n')
    with pytest.raises(UsageError, match="--model-for jugde: no task here has a model with the key `jugde`"):
        load_tasks(["t.jsonl"], models={"jugde": "toy"})
