"""A history as a picture: what changed, and where it got worse."""

from __future__ import annotations

from tests.reports.histories import FOUND

from assay.reports.charts.chart import Dot
from assay.reports.charts.history import history_chart


def test_the_chart_marks_what_changed_and_where_it_got_worse() -> None:
    chart = history_chart(FOUND, link=lambda run: f"#/run/{run}")
    dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
    assert [dot.tone for dot in dots] == ["", "", "worse"]
    assert dots[2].text == "first worse"
    assert "temperature 0 → 0.7" in dots[2].tip
    assert dots[1].link == "#/run/nightly-1"
