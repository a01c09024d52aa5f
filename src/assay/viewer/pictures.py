"""The charts of the viewer: those of the report, from the indexes of the runs, with links to the samples behind."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import numpy as np

from assay.core.errors import AssayError, UsageError
from assay.pages.charts.chart import Chart
from assay.pages.charts.colours import colours_of
from assay.pages.charts.figure import plain_figure
from assay.pages.charts.forest import ForestRow, forest, scores_chart
from assay.pages.charts.history import history_chart
from assay.pages.charts.sections import calibration_charts, comparison_charts, pace_charts
from assay.pages.charts.spreads import BinCounts, score_spread
from assay.pages.document import text_of
from assay.pages.documents.history import verdict
from assay.results.board.amounts import Amounts
from assay.results.board.board_types import Leaderboard
from assay.results.diff.paired_columns import Side
from assay.results.history.timeline import LINES, HistorySource, histories
from assay.results.pace import Pace
from assay.results.report_settings import View, common_view
from assay.results.side_labels import side_labels
from assay.results.standings.against import against_baseline
from assay.results.standings.standing_rows import standings_of
from assay.run_file import RunFile
from assay.text.numbers import number
from assay.viewer.comparing import sides_of
from assay.viewer.index import Snapshot
from assay.viewer.overview import distributions
from assay.viewer.run_list import RunList
from assay.viewer.run_view import RunView

NO_BOARD = "the leaderboard is being built; the charts follow"
LEAST_SLICES, MOST_SLICES = 2, 40


def run_pictures(view: RunView, fixed: Mapping[str, int]) -> dict[str, Any]:
    """The charts of one run; `fixed` are the colours of all models here."""
    board = _board(view)
    if board is None:
        return {"charts": [], "reason": NO_BOARD}
    label = board.model_label
    colours = colours_of([label], fixed)
    charts = [
        *scores_chart([(label, board)], colours, link=lambda _, task: _samples(view.name, task=task)),
        *_scores_spread(view, colours[label]),
        *calibration_charts([(label, board)], colours),
        *pace_charts([(label, _paces(view.snapshot()))], colours),
    ]
    return _as_json(charts)


def _scores_spread(view: RunView, slot: int) -> list[Chart]:
    rows = {
        distribution["task"]: BinCounts(
            distribution["scores"]["edges"], distribution["scores"]["counts"], distribution["scores"]["mean"]
        )
        for distribution in distributions(view.snapshot(), [one.name for one in view.run_file().definitions])
        if distribution["scores"] is not None
    }
    chart = score_spread(
        rows,
        dict.fromkeys(rows, slot),
        lambda task, low, high: _samples(view.name, task=task, low=f"{low:g}", high=f"{high:g}"),
    )
    return [] if chart is None else [chart]


def comparison_pictures(views: Sequence[RunView], fixed: Mapping[str, int]) -> dict[str, Any]:
    """The charts of several runs side by side, against the first."""
    view = common_view([each.run_file().config for each in views])
    boards = [_board(each) for each in views]
    known = [board for board in boards if board is not None]
    if len(known) < len(views):
        return {"charts": [], "reason": NO_BOARD}
    sides = [replace(side, board=board) for side, board in zip(sides_of(list(views), view), known, strict=True)]
    labels = side_labels(sides)
    try:
        standings = standings_of(sides, view)
    except UsageError as error:
        return {"charts": [], "reason": str(error)}
    named = list(zip(labels, sides, strict=True))
    cells = against_baseline(named, labels[0], view)
    colours = colours_of(labels, fixed)
    paces = [(label, _paces(each.snapshot())) for label, each in zip(labels, views, strict=True)]
    runs = dict(zip(labels, (each.name for each in views), strict=True))
    charts = [
        *comparison_charts(standings, cells, labels[0], colours),
        *scores_chart(
            list(zip(labels, known, strict=True)),
            colours,
            link=lambda label, task: _samples(runs[label], task=task),
        ),
        *pace_charts(paces, colours),
    ]
    return _as_json(charts)


def slices_picture(run: str, table: dict[str, Any], whole: dict[str, Any] | None) -> dict[str, Any] | None:
    """The slices of a table of the viewer, as deviation from all its samples; None where there is little to see."""
    if whole is None or whole["value"] is None or not LEAST_SLICES <= len(table["slices"]) <= MOST_SLICES:
        return None
    middle = whole["value"]
    rows = []
    for each in table["slices"]:
        score = each["score"]
        if score is None or score["value"] is None:
            continue
        name = each["value"] if each["known"] else "(none)"
        ends = None if score["low"] is None else (score["low"] - middle, score["high"] - middle)
        filters = {table["by"]: name} if table["by"] in ("task", "outcome") else {"meta": f"{table['by']}={name}"}
        link = _samples(run, **filters) if each["known"] else ""
        note = f"{number(score['value'])} over {score['n']:,}"
        rows.append(ForestRow(name=name, value=score["value"] - middle, ends=ends, note=note, link=link))
    if len(rows) < LEAST_SLICES:
        return None
    title = f"Score by {table['by']}, as deviation from the whole ({number(middle)})"
    level, label = whole["level"], "score minus the score of the whole"
    note = "Each interval is the slice's own; the score of the whole is taken as it is."
    chart = forest("slices", title, rows, signed=True, label=label, value_head="deviation", level=level, note=note)
    return plain_figure(chart)


def history_pictures(
    run_list: RunList,
    *,
    task: str | None = None,
    model: str | None = None,
    baseline: str | None = None,
    line: str | None = None,
) -> dict[str, Any]:
    """Every history of the runs here, with its chart."""
    views = {view.name: view for view in run_list.views()}
    runs = _run_files(run_list)
    common = common_view([run.config for run in runs.values()])
    sources = [HistorySource(name, run, partial(_side, views[name], common)) for name, run in runs.items()]
    colours = model_colours(run_list)
    used, find = line or LINES[0], partial(histories, sources, common, task=task, model=model, baseline=baseline)
    shown = find(line=used)
    if not shown and line is None:
        used = LINES[-1]  # where no model has two runs, all runs are one line
        shown = find(line=used)
    return {
        "lines": LINES,
        "line": used,
        "tasks": sorted({name for run in runs.values() for name in run.tasks}),
        "models": sorted({str(run.model["name"]) for run in runs.values()}),
        "histories": [
            {
                **msgspec.to_builtins(each),
                "verdict": text_of(verdict(each)),
                "chart": plain_figure(history_chart(each, colours, name=f"history-{place}", link=_run)),
            }
            for place, each in enumerate(shown)
        ],
    }


def model_colours(run_list: RunList) -> dict[str, int]:
    """A colour per model over all the runs here, so that every page gives a model the same one."""
    return colours_of(run.model_label for run in _run_files(run_list).values())


def _run_files(run_list: RunList) -> dict[str, RunFile]:
    files = {}
    for view in run_list.views():
        with suppress(AssayError):  # a search, or what the list of runs names as broken
            files[view.name] = view.run_file()
    return files


def _side(view: RunView, common: View) -> Side:
    with view.reading():
        [side] = sides_of([view], common)
        board = _board(view)
        return side if board is None else replace(side, board=board)


def _board(view: RunView) -> Leaderboard | None:
    board, _ = view.latest_board()
    return None if board is None else msgspec.convert(board, Leaderboard)


def _paces(snapshot: Snapshot) -> dict[str, Pace]:
    """As `Pace` is filled from a journal, from the columns of the index."""
    names = ("seconds", "characters", "tokens_out", "finished", "failure", "task")
    seconds, characters, tokens, finished, failure, tasks = (snapshot.column(name) for name in names)
    paces = {}
    for code, task in enumerate(snapshot.tasks):
        rows = np.flatnonzero(snapshot.counts & (tasks == code))
        if not len(rows) or not task:
            continue
        timed = rows[finished[rows] > 0.0]
        paces[task] = Pace(
            seconds=Amounts.of(seconds[rows].astype(np.float64)),
            characters=Amounts.of(characters[rows][characters[rows] >= 0].astype(np.float64)),
            tokens=Amounts.of(tokens[rows][tokens[rows] > 0].astype(np.float64)),
            finished=array("d", finished[timed].tobytes()),
            failed=bytearray((failure[timed] >= 0).tobytes()),
        )
    return paces


def _as_json(charts: Sequence[Chart]) -> dict[str, Any]:
    return {"charts": [plain_figure(chart) for chart in charts], "reason": None}


def _run(name: str) -> str:
    return f"#/run/{quote(name, safe='')}"


def _samples(run: str, **params: str) -> str:
    return f"{_run(run)}/samples?{urlencode(params)}"
