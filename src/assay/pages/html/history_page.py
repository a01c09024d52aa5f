"""Histories as one HTML file: a chart for each set of tasks, where it got worse, and what changed on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.pages.charts.colours import colours_of
from assay.pages.charts.figure import figures
from assay.pages.charts.history import history_chart
from assay.pages.document import text_of
from assay.pages.documents.history import verdict
from assay.pages.documents.standings import metrics_in_words
from assay.pages.html.element import Child, tag
from assay.pages.html.page import listed, page
from assay.results.history.history_types import History


def history_page(histories: Sequence[History]) -> str:
    """The whole document."""
    colours = colours_of(point.model for history in histories for point in history.runs)
    sections = [
        (f"history-{place}", ", ".join(history.tasks), _section(history, place, colours))
        for place, history in enumerate(histories)
    ]
    return page("History", tag("p", f"{sum(len(history.runs) for history in histories):,} runs"), sections)


def _section(history: History, place: int, colours: Mapping[str, int]) -> Child:
    changed: list[Child] = [
        [tag("b", point.run), ": ", "; ".join(point.changes)] for point in history.runs if point.changes
    ]
    return [
        tag("p", text_of(verdict(history)), class_="verdict"),
        tag("p", f"Scored by {metrics_in_words(history.metrics)}."),
        figures([history_chart(history, colours, name=f"history-{place}")]),
        [tag("h3", "What changed from run to run"), listed(changed)] if changed else None,
        listed(list(history.notes)) if history.notes else None,
    ]
