"""A chart on a page: drawn at both widths, with its title, how to read it, and the table behind it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

from assay.reports.charts.chart import Chart
from assay.reports.charts.drawn import markup, plain
from assay.reports.charts.svg import NARROW, draw, wide
from assay.reports.html.element import Child, Html, tag


def style_sheet() -> str:
    return resources.files("assay.reports.charts").joinpath("charts.css").read_text(encoding="utf-8")


def figure(chart: Chart) -> Html:
    """For a page without scripts."""
    return tag(
        "figure",
        tag("figcaption", chart.title),
        markup(wide(chart)),
        markup(draw(chart, NARROW)),
        tag("p", chart.note, class_="reading") if chart.note else None,
        tag("details", tag("summary", "Table"), _table(chart), class_="behind"),
        class_="plotted across" if chart.full_width else "plotted",
    )


def figures(charts: Sequence[Chart]) -> Child:
    """Several, side by side where there is room; None when there is nothing to draw."""
    return tag("div", [figure(chart) for chart in charts], class_="plots") if charts else None


def plain_figure(chart: Chart) -> dict[str, Any]:
    """For the viewer, which builds its own nodes."""
    return {
        "name": chart.name,
        "title": chart.title,
        "note": chart.note,
        "full_width": chart.full_width,
        "wide": plain(wide(chart)),
        "narrow": plain(draw(chart, NARROW)),
        "header": chart.behind.header,
        "rows": chart.behind.rows,
        "numeric_from": chart.behind.numeric_from,
    }


def _table(chart: Chart) -> Html:
    behind = chart.behind

    def cell(name: str, place: int, text: str, **more: str) -> Html:
        return tag(name, text, class_="n" if place >= behind.numeric_from else None, **more)

    head = tag("tr", [cell("th", place, text, scope="col") for place, text in enumerate(behind.header)])
    rows = [
        tag("tr", [cell("td" if place else "th", place, text) for place, text in enumerate(row)]) for row in behind.rows
    ]
    table = tag("table", tag("caption", chart.title), tag("thead", head), tag("tbody", rows))
    return tag("div", table, class_="scroll", tabindex="0")
