"""Run files keep their parts for later."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.formats.declarative.yaml_parts import read

from assay.core.errors import UsageError
from assay.formats.declarative.checked import (
    checked_run,
)


def test_a_run_file_keeps_its_parts_for_later(tmp_path: Path) -> None:
    evaluation = "{key: e, display_name: E, task_specifications: [{task_key: t, model_key: m}]}"
    run = checked_run(read(tmp_path, f"evaluation: {evaluation}\ndataset_generators: [{{key: p}}]\n"))
    assert run.evaluation is not None
    assert run.evaluation.key == "e"
    assert run.tasks == run.models == run.datasets == run.prompts == []
    with pytest.raises(UsageError, match="needs the field `key`"):
        checked_run(read(tmp_path, "evaluation: {display_name: E, task_specifications: [{task_key: t}]}\n"))
    assert checked_run(read(tmp_path, "models: []\n")).evaluation is None


def test_what_other_programs_take_is_warned_of(tmp_path: Path) -> None:
    document = read(tmp_path, "dataset_generators: [{key: g}]\n")
    checked_run(document)
    assert any("`dataset_generators` is not used here" in warning for warning in document.warnings)
