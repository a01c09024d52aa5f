"""The end of a run: the only place that writes the files derived from its journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.pages.documents.report import report_page, write_report
from assay.results.board.board_types import Leaderboard, write_leaderboard_file
from assay.results.board.journal_table import read_tables
from assay.results.board.leaderboard import board_of
from assay.results.marks import marks_sentence
from assay.results.measure import runs_code
from assay.results.report_settings import View, view_of
from assay.run_file import RunFile, read_run_file

if TYPE_CHECKING:
    from assay.runs.python_metrics import PythonMetrics


async def finish(folder: Path, view: View | None = None, *, trust: bool = False) -> Leaderboard:
    """The leaderboard and the report of what the journal holds, in one walk over it, seen as `view` says.

    `trust` comes from the user, not from the run folder: whether the Python metrics of its tasks may run.
    """
    run = read_run_file(folder)
    view = view or view_of(run.config, folder)
    python = _python_metrics(run, trust=trust)
    tables = read_tables(folder / "journal.jsonl", run.definitions, view, watch=python.add if python else None)
    if python:
        await python.write(folder, tables)
    board = board_of(folder, run, tables, view)
    write_derived(folder, board)
    return board


def _python_metrics(run: RunFile, *, trust: bool) -> PythonMetrics | None:
    if not any(runs_code(part) for definition in run.definitions for part in definition.aggregates):
        return None
    from assay.runs.python_metrics import PythonMetrics  # most tasks have none

    return PythonMetrics(run.definitions, trust=trust)


def write_derived(folder: Path, board: Leaderboard) -> None:
    """What can be deleted and rebuilt: the leaderboard, and a page about it."""
    remarks = marks_sentence(folder)
    write_leaderboard_file(folder / "leaderboard.json", board)
    write_report(
        folder / "report.md", report_page(board) + (f"\n## What people say\n\n- {remarks}\n" if remarks else "")
    )
