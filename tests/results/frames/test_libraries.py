"""Tables in pandas, pyarrow and polars: the same rows, types that fit, and a sentence where one is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.results.every_kind import write_run

from assay.core.errors import UsageError
from assay.runs.run_handle import Run, open_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return open_run(write_run(tmp_path_factory.mktemp("libraries") / "run", "m", 0.5))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = write_run(tmp_path_factory.mktemp("libraries") / "run", "m", 0.5, ("graded",))
    (folder / "journal.jsonl").unlink()
    return open_run(folder)


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as Python has them, whatever stands for nothing in a library."""
    return [
        {name: None if value is None or value != value else _plain(value) for name, value in row.items()}
        for row in rows
    ]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def test_arrow_and_polars_hold_the_same_rows(run: Run) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("polars", reason="polars is not installed")
    for rows in ("attempts", "tasks"):
        arrow, polars = run.to_arrow(rows), run.to_polars(rows)
        assert arrow.column_names == polars.columns
        assert plain(arrow.to_pylist()) == plain(polars.to_dicts())


def test_pandas_holds_the_same_rows_as_arrow(run: Run) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas as pd

    for rows in ("attempts", "tasks"):
        frame = run.to_pandas(rows)
        ours = frame.astype(object).where(frame.notna(), None).to_dict("records")
        assert plain(ours) == plain(run.to_arrow(rows).to_pylist())
        assert isinstance(frame.index, pd.RangeIndex)


def test_columns_have_the_types_that_people_compute_with(run: Run) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = run.to_pandas()
    types = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    assert types["score"] == types["match.score"] == types["seconds"] == "float64"
    assert types["attempt"] == types["tokens_in"] == "int64"
    assert types["judge.score"] == "Int64"
    assert types["outcome"] in ("str", "object")
    assert frame["targets"][0] == ("0",)
    means = frame.groupby("task")["score"].mean()
    assert means["failed"] == pytest.approx(next(row.score for row in run.leaderboard.tasks if row.task == "failed"))
    tasks = run.to_pandas("tasks")
    assert str(tasks["complete"].dtype) == "bool"
    assert str(tasks["correct"].dtype) == "Int64"


def test_a_run_without_attempts_has_the_columns_and_no_row(empty: Run) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert len(empty.to_pandas()) == 0
    assert list(empty.to_pandas()) == empty.to_arrow().column_names
    assert "score" in empty.to_arrow().column_names
    assert len(empty.to_pandas("tasks")) == 1
    if pytest.importorskip("polars", reason="polars is not installed"):
        assert empty.to_polars().columns == empty.to_arrow().column_names


@pytest.mark.parametrize("name", ["pandas", "pyarrow", "polars"])
def test_a_library_that_is_missing_is_a_sentence(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    method = {"pyarrow": "to_arrow"}.get(name, f"to_{name}")
    with pytest.raises(UsageError, match=rf"^{method}\(\) needs {name}; install it with: pip install {name}$"):
        getattr(run, method)()


def test_what_a_library_itself_lacks_is_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assay.results.frames.libraries import library

    (tmp_path / "half_installed.py").write_text("import nothing_of_that_name\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="nothing_of_that_name"):
        library("half_installed", "it")
