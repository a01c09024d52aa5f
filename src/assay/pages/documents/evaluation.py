"""The result of an evaluation as text: what `print` shows of it in Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.pages.document import Block, Items, Sentence, Span
from assay.pages.documents.grid import grid_document
from assay.pages.documents.leaderboard import leaderboard_table, notes
from assay.pages.documents.standings import ranks_document
from assay.pages.terminal import terminal_lines
from assay.results.board.board_types import Leaderboard
from assay.results.diff.paired_columns import read_side
from assay.results.grid import grids_of
from assay.results.report_settings import view_of_results
from assay.results.standings.standing_rows import standings_of
from assay.text.numbers import interval, number
from assay.text.wording import count_of

WIDTH = 100


def evaluation_text(runs: Sequence[Path], boards: Sequence[Leaderboard]) -> str:
    """One run by its tasks, several as a grid with their ranks; then what limits the numbers."""
    blocks = _one(boards[0]) if len(boards) == 1 else _several(runs)
    remarks = dict.fromkeys(note for board in boards for note in notes(board))
    if remarks:
        blocks = [*blocks, Items(list(remarks))]
    return "\n".join("".join(span.text for span in line).rstrip() for line in terminal_lines(blocks, WIDTH))


def _one(board: Leaderboard) -> list[Block]:
    failed = board.failed + board.timeouts
    total = sum(row.total for row in board.tasks)
    broken = f"; {failed:,} of {total:,} attempts failed" if failed else ""
    if board.overall_score is None:
        score = "no score"
    else:
        ends = f" ({interval(board.overall_interval)})" if board.overall_interval is not None else ""
        score = f"{number(board.overall_score)}{ends} on {count_of(len(board.tasks), 'task')}"
    return [Sentence(Span(f"{board.model_label}: {score}{broken}", "strong")), leaderboard_table(board)]


def _several(runs: Sequence[Path]) -> list[Block]:
    view = view_of_results(list(runs))
    standings = standings_of([read_side(run, view) for run in runs], view)
    grids = [block for grid in grids_of(runs) for block in grid_document(grid, standings)]
    return [*grids, *ranks_document(standings)]
