"""Numbers of Python metrics are taken only for the very scores they were computed from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.results.board.scripted_boards import write_run

from assay.core.errors import UsageError
from assay.core.types import DatasetSpec, PartSpec, TaskDefinition
from assay.results.board.journal_table import TaskTable, read_tables
from assay.results.board.python_metrics import FILE, output_for, read_python_metrics
from assay.results.measure import runs_code
from assay.results.report_settings import View
from assay.run_file import read_run_file
from assay.tasks.descriptions import with_aggregates_described


def table_of(folder: Path, *scores: float) -> TaskTable:
    write_run(folder, {"t": [[score] for score in scores]})
    return read_tables(folder / "journal.jsonl", read_run_file(folder).definitions, View())["t"]


def test_a_number_of_other_scores_is_not_taken_for_these(tmp_path: Path) -> None:
    table = table_of(tmp_path / "run", 1.0, 0.0)
    kept = {"t": {"digest": f"{table.digest:x}", "metrics": {"own": {"values": {"m": 3}}}}}
    assert output_for(kept, "t", "own", table) == {"values": {"m": 3}}
    assert output_for(kept, "t", "other", table) is None
    assert output_for(kept, "u", "own", table) is None
    assert output_for(kept, "t", "own", table_of(tmp_path / "other", 1.0, 1.0)) is None


def test_a_run_without_the_file_has_no_numbers_and_a_broken_file_is_a_sentence(tmp_path: Path) -> None:
    assert read_python_metrics(tmp_path) == {}
    for text in ("{", "[]", json.dumps({"t": 3})):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(UsageError, match=r"not a file of Python metrics: .*Delete it"):
            read_python_metrics(tmp_path)


@pytest.mark.parametrize(("use", "code"), [("mean", False), ("python", True), ("my_module:own", True)])
def test_only_our_own_aggregates_run_no_code_of_others(use: str, code: bool) -> None:
    part = PartSpec(key="k", use=use)
    solver, dataset = PartSpec(key="solver", use="no_solver"), DatasetSpec(use="inline")
    task = TaskDefinition(
        name="t", format="declarative", dataset=dataset, solver=solver, scorers=(), aggregates=(part,), metric="m"
    )
    assert runs_code(with_aggregates_described(task, own_code=False).aggregates[0]) is code
