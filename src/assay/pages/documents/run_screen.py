"""A run on one screen: what failed and why, the score, the tasks, and what limits the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.pages.document import Block, Items, Sentence, Span, TextTable
from assay.pages.documents.leaderboard import (
    INCOMPLETE,
    aggregates_table,
    failure_sentences,
    leaderboard_table,
    other_notes,
    score_sentence,
)
from assay.pages.documents.more_tables import tables_besides
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.text.numbers import interval
from assay.text.printable import one_line

_TOLD_BELOW = ("ms", "cost", "judges' cost")
"""Columns whose sums the closing lines have."""
_TOLD_ABOVE = ("score", "bounds")
"""Columns that the verdict has, of a single task."""


def run_screen(board: Leaderboard, problems: Sequence[str] = (), *, known: str = "") -> list[Block]:
    """What a person reads first; the rest is in `board_document`. `problems` are why there is no, or half a, result."""
    blocks: list[Block] = [Sentence(Span(problem, "bad")) for problem in problems]
    if causes := failure_sentences(board, known, with_bounds=False):
        blocks.append(Items([Span(causes[0], "bad"), *causes[1:]]))
    if board.overall_score is not None or not problems:
        blocks.append(Sentence(Span(run_verdict(board), "strong")))
    blocks += _tables(board)
    if notes := [note for note in other_notes(board) if note != INCOMPLETE]:
        blocks.append(Items([one_line(note) for note in notes], may_fold=True))
    return blocks


def run_verdict(board: Leaderboard) -> str:
    """The model and its score, with what failed attempts leave open."""
    bounds = board.overall_bounds
    within = "" if bounds is None else f"; {interval(bounds)} whatever the failed ones were"
    return f"{one_line(board.model_label)}: {score_sentence(board)}{within}"


def _tables(board: Leaderboard) -> list[Block]:
    tables = [_of_tasks(board)]
    has_numbers = any(each.value is not None for row in board.tasks for each in row.aggregates)
    if has_numbers and (numbers := aggregates_table(board, without_scores=True)) is not None:
        tables.append(numbers)
    tables += tables_besides(board)
    return [tables[0], *(_foldable(each) for each in tables[1:])]


def _foldable(table: TextTable) -> TextTable:
    return replace(table, folds=range(len(table.rows) - 1, 2, -1), folded="rows")


def _of_tasks(board: Leaderboard) -> TextTable:
    """The tasks without the overall score, which stands above; of a single one, without its score."""
    table = leaderboard_table(board)
    is_single = len(board.tasks) == 1
    dropped = [*_TOLD_BELOW, *(_TOLD_ABOVE if is_single else ())]
    kept = [
        at
        for at, name in enumerate(table.header)
        if name not in dropped and not (is_single and name.endswith(" interval"))
    ]
    rows = [[row[at] for at in kept] for row in table.rows[: len(board.tasks)]]
    quiet = [at for at, row in enumerate(board.tasks) if not _is_news(row)]
    return replace(
        table,
        header=[table.header[at] for at in kept],
        rows=rows,
        numeric_from=2,
        summed=False,
        folds=[at for at in reversed(quiet) if at],
        folded="tasks without failures",
    )


def _is_news(row: TaskRow) -> bool:
    return bool(row.score is None or row.failed or row.timeouts or row.remaining or row.weak_passes or row.unscored)
