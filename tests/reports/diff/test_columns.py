"""The columns of a comparison: what can be paired, and once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reports.runs import Adder, Broken, run_into, write_sums

from assay.reports.board.build import build_leaderboard
from assay.reports.board.types import write_leaderboard_file
from assay.reports.diff.build import diff
from assay.reports.view import View


def test_leaderboard_files_with_examples_compare_as_their_runs_do(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        write_leaderboard_file(tmp_path / f"{name}.json", build_leaderboard(runs / name, View(per_example=True)))
    of_files = diff(tmp_path / "a.json", tmp_path / "b.json")
    of_runs = diff(runs / "a", runs / "b")
    assert of_files.tasks == of_runs.tasks
    mixed = diff(runs / "a", tmp_path / "b.json")
    assert mixed.tasks == of_runs.tasks


def test_leaderboards_without_examples_compare_only_scores(runs: Path, tmp_path: Path) -> None:
    for name in "ab":
        write_leaderboard_file(tmp_path / f"{name}.json", build_leaderboard(runs / name, View()))
    found = diff(tmp_path / "a.json", tmp_path / "b.json")
    assert not found.per_example
    assert found.tasks[1].change == pytest.approx(-0.02)
    assert found.tasks[1].comparison is None
    assert "is unknown" in found.tasks[1].verdict


def test_a_failed_attempt_that_was_made_again_counts_once(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 10)
    run_into(tmp_path / "a", tasks, Adder(name="broken"))
    run_into(tmp_path / "b", tasks, Broken([3, 4]))
    run_into(tmp_path / "b", tasks, Broken([]))
    found = diff(tmp_path / "a", tmp_path / "b")
    assert (found.tasks[0].compared, found.tasks[0].verdict) == (10, "no difference")
