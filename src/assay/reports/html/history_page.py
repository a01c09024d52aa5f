"""Histories as one HTML file: a chart for each set of tasks, where it got worse, and what changed on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.reports.charts.colours import colours_of
from assay.reports.charts.figure import figures
from assay.reports.charts.history import history_chart
from assay.reports.document import text_of
from assay.reports.documents.history import verdict
from assay.reports.history.types import History
from assay.reports.html.element import Child, tag
from assay.reports.html.page import listed, page


def history_page(found: Sequence[History]) -> str:
    """The whole document."""
    colours = colours_of(point.model for each in found for point in each.runs)
    sections = [
        (f"history-{place}", ", ".join(each.tasks), _section(each, place, colours)) for place, each in enumerate(found)
    ]
    return page("History", tag("p", f"{sum(len(each.runs) for each in found):,} runs"), sections)


def _section(found: History, place: int, colours: Mapping[str, int]) -> Child:
    changed: list[Child] = [
        [tag("b", point.run), ": ", "; ".join(point.changes)] for point in found.runs if point.changes
    ]
    return [
        tag("p", text_of(verdict(found)), class_="verdict"),
        figures([history_chart(found, colours, name=f"history-{place}")]),
        [tag("h3", "What changed from run to run"), listed(changed)] if changed else None,
        listed(list(found.notes)) if found.notes else None,
    ]
