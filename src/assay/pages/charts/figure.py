"""A chart on a page: drawn at both widths, with its title, how to read it, and the table behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from assay.pages.charts.chart import Chart
from assay.pages.charts.drawn import markup, plain
from assay.pages.charts.svg import NARROW, draw, wide
from assay.pages.html.element import Child, Html, rows, tag


def style_sheet() -> str:
    return resources.files("assay.pages.charts").joinpath("charts.css").read_text(encoding="utf-8")


def chart_tools() -> str:
    """The script for drawn charts in any page: tooltips, keyboard navigation, downloads."""
    return resources.files("assay.pages.charts").joinpath("chart_tools.js").read_text(encoding="utf-8")


@cache
def page_script() -> str:
    """The same for a page of its own, which has nothing to import from."""
    body = re.sub(r"^export ", "", chart_tools(), flags=re.MULTILINE)
    return f"(() => {{\n{body}document.querySelectorAll('figure.plotted').forEach(enliven);\n}})();\n"


def figure(chart: Chart) -> Html:
    """Drawn, with the table behind it, for a page that may run `page_script`, and reads without."""
    return tag(
        "figure",
        tag("figcaption", chart.title),
        markup(wide(chart)),
        markup(draw(chart, NARROW)),
        tag("p", chart.note, class_="reading") if chart.note else None,
        tag("details", tag("summary", "Table"), _table(chart), class_="behind"),
        class_="plotted across" if chart.full_width else "plotted",
        data_name=chart.name,
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
    classes = [' class="n"' if place >= behind.numeric_from else "" for place in range(len(behind.header))]
    heads = [f'<th{class_} scope="col">' for class_ in classes]
    cells = [f"<td{class_}>" if place else f"<th{class_}>" for place, class_ in enumerate(classes)]
    head, body = tag("thead", rows(heads, [behind.header])), tag("tbody", rows(cells, behind.rows))
    table = tag("table", tag("caption", chart.title), head, body)
    return tag("div", table, class_="scroll", tabindex="0")
