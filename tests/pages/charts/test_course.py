"""Throughput with failures, and the score over the calls of a search."""

from __future__ import annotations

from assay.pages.charts.chart import Bar, Curve, Dot
from assay.pages.charts.course import ScoredText, search_chart, timeline_chart
from assay.pages.charts.sections import pace_charts
from assay.results.diff.paired_columns import Side
from assay.results.pace import Timeline


def test_failures_stand_at_the_bottom_of_each_bar() -> None:
    chart = timeline_chart(Timeline(bucket_seconds=60.0, made=[10, 4], failed=[0, 4], pauses=0))
    assert chart is not None
    bars = [mark for mark in chart.marks if isinstance(mark, Bar)]
    assert [(bar.y, bar.tone) for bar in bars] == [((0.0, 10.0), ""), ((0.0, 4.0), "worse")]


def test_a_run_made_now_has_a_course(sides: list[tuple[str, Side]]) -> None:
    label, side = sides[2]
    charts = {chart.name: chart for chart in pace_charts([(label, side.paces)], {label: 0})}
    assert "timeline" in charts
    made = sum(int(row[1].replace(",", "")) for row in charts["timeline"].behind.rows)
    failed = sum(int(row[2]) for row in charts["timeline"].behind.rows)
    assert (made, failed) == (80, 4)


def test_the_line_of_a_search_never_falls() -> None:
    kept = [ScoredText(calls=calls, score=score, name=str(calls)) for calls, score in ((1, 0.3), (5, 0.2), (9, 0.8))]
    rejected = [ScoredText(calls=3, score=0.1, name="3")]
    chart = search_chart(kept, rejected, last=12, unit=True, on="valset")
    [line] = [mark for mark in chart.marks if isinstance(mark, Curve)]
    assert line.points == [(1.0, 0.3), (5.0, 0.3), (9.0, 0.8), (12.0, 0.8)]
    assert [mark.hollow for mark in chart.marks if isinstance(mark, Dot)] == [True, False, False, False]
