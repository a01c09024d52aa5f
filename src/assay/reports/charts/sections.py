"""Which charts a run has, and which several runs side by side have: the same in the report and in the viewer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from assay.reports.board.types import Leaderboard
from assay.reports.charts.calibration import calibration_chart
from assay.reports.charts.chart import Chart
from assay.reports.charts.colours import colours_of
from assay.reports.charts.course import timeline_chart
from assay.reports.charts.forest import Link, scores_chart, standings_chart
from assay.reports.charts.matrices import heatmap_chart, wins_chart
from assay.reports.charts.spreads import spread_charts
from assay.reports.charts.tradeoff import tradeoff_charts
from assay.reports.pace import Pace, timeline_of
from assay.reports.standings.against import BaselineCell
from assay.reports.standings.build import Standings

Colours = Mapping[str, int]


def comparison_charts(
    found: Standings, cells: Sequence[BaselineCell], baseline: str, colours: Colours | None = None
) -> list[Chart]:
    """How several models stand: overall, by task against a baseline, one by one, and for what they cost."""
    colours = colours or colours_of(row.label for row in found.models)
    charts = [
        standings_chart(found, colours),
        heatmap_chart(found, cells, baseline, found.level),
        *tradeoff_charts(found, colours),
        wins_chart(found),
    ]
    return [chart for chart in charts if chart is not None]


def score_charts(
    boards: Sequence[tuple[str, Leaderboard]], colours: Colours | None = None, link: Link | None = None
) -> list[Chart]:
    return scores_chart(boards, colours=colours or colours_of(label for label, _ in boards), link=link)


def pace_charts(named: Sequence[tuple[str, Mapping[str, Pace]]], colours: Colours | None = None) -> list[Chart]:
    """How long, how wordy and how steady: rows are models, or the tasks of the one there is."""
    colours = colours or colours_of(label for label, _ in named)
    if len(named) == 1:
        label, paces = named[0]
        rows = {task: [pace] for task, pace in paces.items()}
        slots = dict.fromkeys(rows, colours[label])
    else:
        rows, slots = {label: list(paces.values()) for label, paces in named}, dict(colours)
    charts = spread_charts(rows, slots)
    course = _course(named[0][1].values(), named[0][0], colours) if len(named) == 1 else None
    return charts if course is None else [*charts, course]


def _course(paces: Collection[Pace], model: str, colours: Colours) -> Chart | None:
    times = [np.frombuffer(each.finished, dtype=np.float64) for each in paces]
    failed = [np.frombuffer(bytes(each.failed), dtype=np.bool_) for each in paces]
    if not times:
        return None
    return timeline_chart(timeline_of(np.concatenate(times), np.concatenate(failed)), model, colours[model])


def calibration_charts(boards: Sequence[tuple[str, Leaderboard]]) -> list[Chart]:
    """One per task whose answers state how sure they are."""
    return [
        calibration_chart(
            row.calibration.bins,
            f"{label}: {row.task}" if len(boards) > 1 else row.task,
            name=f"calibration-{place}-{number}",
        )
        for place, (label, board) in enumerate(boards)
        for number, row in enumerate(board.tasks)
        if row.calibration is not None
    ]
