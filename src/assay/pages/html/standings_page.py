"""Many models as one HTML file: ranks, charts of the models side by side, scores per task and slice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.run_file import write_whole
from assay.pages.charts.colours import colours_of
from assay.pages.charts.figure import figures
from assay.pages.charts.sections import comparison_charts
from assay.pages.documents.leaderboard import interval, number
from assay.pages.documents.standings import (
    NORMALISED,
    category_names,
    cell_besides,
    cell_text,
    place_cells,
    place_header,
    slices_table,
    task_names,
)
from assay.pages.html.element import Child, tag
from assay.pages.html.page import grid, listed, page, table
from assay.results.standings.against import BaselineCell
from assay.results.standings.standing_rows import ModelRow, Standings


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
    rows: list[list[Child]] = [
        [row.label, row.rank, *(_number(*cell) for cell in place_cells(row, standings))] for row in standings.models
    ]
    header = ["model", "rank", *place_header(standings)]
    return [
        grid(header, rows, numeric=range(1, len(header))),
        tag("p", f"Ranks: {standings.ranking}. Normalised: {NORMALISED[standings.normalisation]}.", class_="soft"),
        listed(standings.notes) if standings.notes else None,
    ]


def scores_section(standings: Standings) -> Child:
    """Every model on every task, and per category."""
    rows: list[list[Child]] = [[row.label, *(_cell(row, task) for task in standings.tasks)] for row in standings.models]
    parts: list[Child] = [grid(["model", *task_names(standings)], rows, numeric=range(1, len(standings.tasks) + 1))]
    names = category_names(standings)
    if names:
        sums: list[list[Child]] = [
            [row.label, *(cell_text(row.categories.get(name)) for name in names)] for row in standings.models
        ]
        parts.append(grid(["model", *names], sums, numeric=range(1, len(names) + 1), caption="Means per category"))
    return parts


def _cell(row: ModelRow, task: str) -> Child:
    cell = row.tasks.get(task)
    if cell is None or cell.score is None:
        return tag("span", "–", class_="none", title=cell.reason if cell is not None else None)
    besides = [" ", tag("span", note, class_="tag bad")] if (note := cell_besides(cell).removeprefix(", ")) else []
    if cell.interval is None:
        return [number(cell.score), *besides]
    return [number(cell.score), " ", tag("span", interval(cell.interval), class_="soft"), *besides]


def _number(value: str, sure: str) -> Child:
    """A number with its interval below it."""
    return [value, " ", tag("span", sure, class_="soft")] if sure else value
