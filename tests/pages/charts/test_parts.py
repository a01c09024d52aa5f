"""One bar for each task, its parts in a row."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.board.scripted_boards import board_of

from assay.pages.charts.chart import Bar
from assay.pages.charts.parts import variance_chart


def test_the_parts_of_a_bar_follow_one_another_and_add_up(tmp_path: Path) -> None:
    mixed = [[1.0, 1.0]] * 30 + [[0.0, 0.0]] * 20 + [[1.0, 0.0]] * 20
    chart = variance_chart([("a", board_of(tmp_path, {"sums": mixed}))])
    assert chart is not None
    samples, attempts = (mark for mark in chart.marks if isinstance(mark, Bar))
    assert samples.x[0] == 0.0
    assert samples.x[1] == attempts.x[0]
    assert attempts.x[1] == pytest.approx(1.0)
    assert [row[1] for row in chart.behind.rows] == ["samples", "attempts"]


def test_one_attempt_has_no_chart(tmp_path: Path) -> None:
    assert variance_chart([("a", board_of(tmp_path, {"sums": [[1.0]] * 60}))]) is None
