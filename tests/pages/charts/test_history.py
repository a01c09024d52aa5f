"""A history as a picture: what changed, and where it got worse."""

from __future__ import annotations

from msgspec.structs import replace
from tests.results.histories import FOUND

from assay.pages.charts.chart import Dot, Scale
from assay.pages.charts.history import history_chart

COLOURS = {run.model: 3 for run in FOUND.runs}


def test_the_chart_marks_what_changed_and_where_it_got_worse() -> None:
    chart = history_chart(FOUND, COLOURS, link=lambda run: f"#/run/{run}")
    dots = [mark for mark in chart.marks if isinstance(mark, Dot)]
    assert [dot.text for dot in dots] == ["", "", "worse"]
    assert {dot.tone for dot in dots} == {""}, "the colour of a point is that of its model"
    assert "temperature 0 → 0.7" in dots[2].tip
    assert dots[1].link == "#/run/nightly-1"


def test_runs_of_one_day_are_told_apart_by_the_time() -> None:
    def axis(*created: str) -> tuple[str, list[str]]:
        runs = [replace(run, created=time) for run, time in zip(FOUND.runs, created, strict=True)]
        scale = history_chart(replace(FOUND, runs=runs), COLOURS).x
        assert isinstance(scale, Scale)
        return scale.label, list(scale.names)

    morning = ("2026-01-01T08:00:00Z", "2026-01-01T09:30:00Z")
    assert axis(*morning, "2026-01-01T10:00:00Z") == (
        "runs in order of time, 2026-01-01",
        ["08:00", "09:30", "10:00"],
    )
    assert axis(*morning, "2026-01-02T10:00:00Z")[1][1] == "2026-01-01 09:30"
