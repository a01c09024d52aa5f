"""Which charts a run has, and which several runs side by side have: the same in the report and in the viewer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from assay.pages.charts.calibration import calibration_chart
from assay.pages.charts.chart import Chart
from assay.pages.charts.course import timeline_chart
from assay.pages.charts.forest import standings_chart
from assay.pages.charts.matrices import heatmap_chart, wins_chart
from assay.pages.charts.spreads import spread_charts
from assay.pages.charts.tradeoff import tradeoff_charts
from assay.results.board.board_types import Leaderboard
from assay.results.pace import Pace, timeline_of_all
from assay.results.standings.against import BaselineCell
from assay.results.standings.standing_rows import Standings


def comparison_charts(
    standings: Standings, cells: Sequence[BaselineCell], baseline: str, colours: Mapping[str, int]
) -> list[Chart]:
    """Several models compared: overall, by task against a baseline, in pairs, and by cost."""
    charts = [
        standings_chart(standings, colours),
        heatmap_chart(standings, cells, baseline, standings.level),
        *tradeoff_charts(standings, colours),
        wins_chart(standings),
    ]
    return [chart for chart in charts if chart is not None]


def pace_charts(named: Sequence[tuple[str, Mapping[str, Pace]]], colours: Mapping[str, int]) -> list[Chart]:
    """How long, how wordy and how steady: rows are models, or the tasks of the one there is."""
    if len(named) == 1:
        label, paces = named[0]
        rows = {task: [pace] for task, pace in paces.items()}
        slots = dict.fromkeys(rows, colours[label])
    else:
        rows, slots = {label: list(paces.values()) for label, paces in named}, dict(colours)
    charts = spread_charts(rows, slots)
    course = _course(named[0][1].values(), named[0][0], colours[named[0][0]]) if len(named) == 1 else None
    return charts if course is None else [*charts, course]


def _course(paces: Collection[Pace], model: str, slot: int) -> Chart | None:
    return timeline_chart(timeline_of_all(paces), model, slot) if paces else None


def calibration_charts(boards: Sequence[tuple[str, Leaderboard]], colours: Mapping[str, int]) -> list[Chart]:
    """One per task whose answers state a confidence."""
    return [
        calibration_chart(
            row.calibration.bins,
            f"{label}: {row.task}" if len(boards) > 1 else row.task,
            model=label,
            slot=colours[label],
            name=f"calibration-{place}-{number}",
        )
        for place, (label, board) in enumerate(boards)
        for number, row in enumerate(board.tasks)
        if row.calibration is not None
    ]
