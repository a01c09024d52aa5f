"""The command that continues a run where it lies now."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.viewer.demo_runs import run_file

from assay.run_config import RunConfig
from assay.runs.command import continuing


@pytest.mark.parametrize(
    ("made_by", "folder", "continued_by"),
    [
        ("assay run t --run-dir=a --model own:m --fresh", "b", "assay run t --model own:m --run-dir b"),
        ("assay run t --model own:m --model own:n", "b", "assay run t --model own:m --run-dir b"),
        ("assay run --model own:m -- -t", "-b", "assay run --model own:m --run-dir=-b -- -t"),
        ("pytest", "b", None),
        ("", "b", None),
    ],
)
def test_a_run_is_continued_in_its_folder_with_its_model_and_never_afresh(
    made_by: str, folder: str, continued_by: str | None
) -> None:
    run = replace(run_file("small", 4), command=made_by.split(), config=RunConfig(model="own:m"))
    assert continuing(run, Path(folder)) == continued_by
