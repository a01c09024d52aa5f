"""An aggregate of a stranger's that says it is a mean is shown with all that a mean has."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.results.yaml_runs import python_scorer, run_task, write_task

from assay.results.board.board_types import Leaderboard
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View

OWN = """
from assay import Mean, Summary, Value, describes

def _mean(table, name="points"):
    numbers = table.numbers(name)
    return [Summary(name="own", value=float(numbers.values.mean()), scored=len(numbers), failed=table.failed)]

@describes(Mean(value=Value(name="points", range=(0.0, 9.0))))
def described(table, *, level=0.95):
    return _mean(table)

@describes(Mean(value=Value(name="points", range=(0.0, 9.0))))
def misdescribed(table, *, level=0.95):
    return _mean(table, "others")

def silent(table, *, level=0.95):
    return _mean(table)
"""
SNIPPET = """
if sample["q"] == "5":
    raise ValueError("broken")
return {"points": float(sample["q"]), "others": 2.0 * float(sample["q"])}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "own_means.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_means", None)


def board_of(folder: Path, monkeypatch: pytest.MonkeyPatch, **use: object) -> Leaderboard:
    """One of ten attempts failed."""
    samples = [{"q": str(number), "part": "low" if number < 4 else "high"} for number in range(10)]
    path = write_task(folder, samples, [python_scorer(SNIPPET, metrics=[use])])
    monkeypatch.chdir(folder)
    run_task(path)
    return build_leaderboard(folder / "run", View(by=("sample.part",)))


@pytest.mark.usefixtures("own")
def test_a_described_mean_has_the_interval_bounds_and_slices_of_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = board_of(tmp_path / "own", monkeypatch, type="own_means:described").tasks[0]
    ours = board_of(tmp_path / "ours", monkeypatch, type="mean", field="points", bounds=[0, 9]).tasks[0]
    assert own.score == ours.score
    assert own.interval == ours.interval is not None
    assert own.bounds == ours.bounds is not None
    assert own.slices == ours.slices
    assert len(own.slices) == 2


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("name", ["misdescribed", "silent"])
def test_one_that_is_not_what_it_says_or_says_nothing_has_its_number_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = board_of(tmp_path / "own", monkeypatch, type=f"own_means:{name}")
    row = board.tasks[0]
    assert row.score is not None
    assert (row.interval, row.bounds, row.slices) == (None, None, [])
    assert len([notice for notice in board.notices if "no slices of" in notice]) == 1
