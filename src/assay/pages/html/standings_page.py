"""Many models as one HTML file: ranks, charts of the models side by side, scores per task and slice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.pages.charts.colours import colours_of
from assay.pages.charts.figure import figures
from assay.pages.charts.sections import comparison_charts
from assay.pages.documents.standings import categories_table, how_made, place_table, scores_table, slices_table
from assay.pages.html.element import Child, tag
from assay.pages.html.page import listed, page, table
from assay.results.standings.against import BaselineCell
from assay.results.standings.standing_rows import Standings
from assay.run_file import write_whole


def write_standings_page(path: Path, standings: Standings, cells: Sequence[BaselineCell], baseline: str) -> None:
    write_whole(path, standings_page(standings, cells, baseline).encode())


def standings_page(standings: Standings, cells: Sequence[BaselineCell] = (), baseline: str | None = None) -> str:
    """The whole document; `cells` compare every model with the baseline, task by task."""
    colours = colours_of(row.label for row in standings.models)
    charts = comparison_charts(standings, cells, baseline or standings.models[0].label, colours)
    sections: list[tuple[str, str, Child]] = [
        ("leaderboard", "Leaderboard", standings_section(standings)),
        ("models", "Models side by side", figures(charts)),
        ("tasks", "Scores per task", scores_section(standings)),
    ]
    slices = slices_table(standings)
    if slices is not None:
        sections.append(("slices", "Slices", table(slices)))
    lead = tag("p", f"{len(standings.models)} models on {len(standings.tasks)} tasks")
    return page("Leaderboard", lead, sections)


def standings_section(standings: Standings) -> Child:
    """The table of ranks."""
    return [
        table(place_table(standings)),
        *(tag("p", sentence, class_="soft") for sentence in how_made(standings)),
        listed(standings.notes) if standings.notes else None,
    ]


def scores_section(standings: Standings) -> Child:
    """Every model on every task, and per category."""
    categories = categories_table(standings)
    return [table(scores_table(standings)), table(categories) if categories is not None else None]
