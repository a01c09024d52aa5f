"""Rows that every run of a history has: weighted so that each task counts the same, open attempts at both ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.results.runs import Adder, run_into, write_sums

from assay.results.diff.paired_columns import read_side
from assay.results.history.score_matrix import ScoreMatrix, at_ends
from assay.results.report_settings import View


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("matrix")
    write_sums(folder / "tasks", "many", 40)
    tasks = write_sums(folder / "tasks", "few", 10).parent
    run_into(folder / "all", tasks, Adder(range(5)))
    run_into(folder / "part", tasks, Adder(), limit=8)
    return folder


def test_the_mean_over_rows_is_the_mean_over_tasks(folder: Path) -> None:
    side = read_side(folder / "all", View())
    matrix = ScoreMatrix(side, ["few", "many"])
    scores = matrix.scores_of(side, {})
    assert matrix.samples == 50
    assert side.board.overall_score is not None
    assert scores.seen.mean() == pytest.approx(side.board.overall_score)
    assert (scores.low == scores.high).all()


def test_what_a_run_lacks_is_open_at_both_ends(folder: Path) -> None:
    whole, part = (read_side(folder / name, View()) for name in ("all", "part"))
    matrix = ScoreMatrix(whole, ["few", "many"])
    scores = matrix.scores_of(part, {})
    assert int(np.isnan(scores.seen).sum()) == 34
    assert int((scores.low < scores.high).sum()) == 34
    first = matrix.scores_of(whole, {})
    for_a_fall, against = (at_ends([first, scores], 1, for_a_fall=fall) for fall in (True, False))
    assert for_a_fall[:, 1].sum() < against[:, 1].sum()
    matrix.columns.append(first)
    assert (matrix.lost(whole) == 0.0).all()
