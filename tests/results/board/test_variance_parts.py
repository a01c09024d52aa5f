"""One bar on a leaderboard with repeats: where the uncertainty of a task comes from, and what half of it takes."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.results.board.scripted_boards import board_of
from tests.results.runs import Adder, run_into, write_sums

from assay.pages.documents.more_tables import variance_table
from assay.pages.html.report_page import report_page
from assay.pages.markdown import markdown
from assay.results.board.board_types import VarianceRow
from assay.results.board.leaderboard import build_leaderboard
from assay.results.report_settings import View


def split_of(folder: Path, values: list[list[float]]) -> VarianceRow:
    row = board_of(folder, {"sums": values}).tasks[0].variance  # type: ignore[arg-type]
    assert row is not None
    return row


def test_samples_that_are_always_right_or_always_wrong_leave_nothing_to_attempts(tmp_path: Path) -> None:
    row = split_of(tmp_path, [[1.0, 1.0]] * 40 + [[0.0, 0.0]] * 20)
    assert [part.part for part in row.parts] == ["samples", "attempts"]
    assert [part.share for part in row.parts] == [1.0, 0.0]
    assert row.standard_error == pytest.approx(np.std([1.0] * 40 + [0.0] * 20, ddof=1) / 60**0.5)


def test_coin_flips_leave_nothing_to_samples(tmp_path: Path) -> None:
    flips = np.random.default_rng(3).integers(0, 2, (200, 4)).astype(float).tolist()
    row = split_of(tmp_path, flips)
    assert row.parts[1].share > 0.9
    assert row.attempts_share is not None
    assert row.attempts_share[1] == 1.0


def test_fewer_than_fifty_samples_have_no_bar_and_a_reason(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"sums": [[1.0, 0.0]] * 49})
    assert board.tasks[0].variance is not None
    assert board.tasks[0].variance.reason == "49 samples with two scored attempts; at least 50 are needed"
    assert variance_table(board) is None


def test_half_of_a_part_takes_as_many_requests_again(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 60), Adder(range(20)), repeat=2)
    board = build_leaderboard(tmp_path / "run")
    assert board.tasks[0].variance is not None
    assert {part.requests for part in board.tasks[0].variance.parts} == {120}
    table = markdown(variance_table(board)) or ""
    assert "120 requests" in table
    assert "█" * 20 in table
    assert "samples 100 %, attempts 0 %" in table


def test_the_bar_is_on_every_surface(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 60), Adder(range(20)), repeat=2)
    board = json.loads(msgspec.json.encode(build_leaderboard(tmp_path / "run")))
    assert board["tasks"][0]["variance"]["parts"][0]["part"] == "samples"
    page = report_page([tmp_path / "run"], View())
    assert "Where the uncertainty comes from" in page
    assert "samples 100 %, attempts 0 %" in page


def test_one_attempt_has_no_parts(tmp_path: Path) -> None:
    run_into(tmp_path / "run", write_sums(tmp_path, "sums", 60), Adder())
    assert build_leaderboard(tmp_path / "run").tasks[0].variance is None
