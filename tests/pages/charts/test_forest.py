"""Scores, differences and slices as rows: the very numbers of leaderboard and diff."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.pages.charts.conftest import VIEW

from assay.pages.charts.chart import Bands, Dot
from assay.pages.charts.forest import differences_chart, scores_chart, slices_chart, standings_chart
from assay.results.diff.comparison import diff_of
from assay.results.diff.paired_columns import Side
from assay.results.standings.standing_rows import standings_of

Named = list[tuple[str, Side]]
COLOURS = {"good": 0, "poor": 1, "broken": 2}


def test_scores_and_intervals_are_those_of_the_leaderboard(sides: Named) -> None:
    [chart] = scores_chart([(label, side.board) for label, side in sides], COLOURS)
    drawn = {
        (chart.y.groups[int(dot.y)], dot.series): (dot.x, dot.x_interval)
        for dot in chart.marks
        if isinstance(dot, Dot) and isinstance(chart.y, Bands)
    }
    for label, side in sides:
        for row in side.board.tasks:
            assert row.interval is not None
            assert drawn[row.task, label] == (row.score, (row.interval.low, row.interval.high))
        assert drawn["overall", label][0] == side.board.overall_score
    assert chart.series == ["good", "poor", "broken"]


def test_one_run_has_a_row_per_task_and_no_legend(sides: Named) -> None:
    [chart] = scores_chart(
        [(sides[0][0], sides[0][1].board)], COLOURS, link=lambda run, task: f"#/run/{run}?task={task}"
    )
    assert isinstance(chart.y, Bands)
    assert set(chart.y.names) == {"sums", "more sums", "overall"}
    assert chart.series == []
    assert {mark.link for mark in chart.marks} == {"#/run/good?task=sums", "#/run/good?task=more sums", ""}
    assert any("39 of 40 right" in mark.tip for mark in chart.marks)


def test_the_order_of_models_is_that_of_their_ranks(sides: Named) -> None:
    found = standings_of([side for _, side in sides], VIEW)
    chart = standings_chart(found, COLOURS)
    assert chart is not None
    assert chart.title == "Overall score on the samples that all were scored on"
    assert isinstance(chart.y, Bands)
    assert chart.y.names == [row.label for row in found.models]
    models = [replace(row, overall=None) for row in found.models]
    assert standings_chart(replace(found, models=models), COLOURS) is None, "nothing to draw"


def test_differences_are_coloured_only_where_they_are_significant(sides: Named) -> None:
    (_, good), (_, poor), _ = sides
    found = diff_of(good, poor, VIEW)
    chart = differences_chart(found)
    assert chart is not None
    assert {mark.tone for mark in chart.marks} == {"worse"}
    same = differences_chart(diff_of(good, good, VIEW))
    assert same is not None
    assert {mark.tone for mark in same.marks} == {"quiet"}
    drawn = [dot.x for dot in chart.marks if isinstance(dot, Dot)]
    assert drawn[0] == pytest.approx(found.tasks[0].comparison and found.tasks[0].comparison.difference)


def test_slices_are_distances_from_their_task(sides: Named) -> None:
    poor = sides[1]
    chart = slices_chart([(poor[0], poor[1].board)], COLOURS)
    assert chart is not None
    row = poor[1].board.tasks[0]
    low = next(each for each in row.slices if each.value == "low")
    assert row.score is not None
    assert low.score is not None
    [dot] = [dot for dot in chart.marks if isinstance(dot, Dot) and f"{row.task}, half = low" in dot.tip]
    assert dot.x == pytest.approx(low.score - row.score)
    assert (dot.tone == "worse") is low.weak
    assert low.weak
