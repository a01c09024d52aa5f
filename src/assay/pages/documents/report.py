"""A run on one Markdown page: `report.md`."""

from __future__ import annotations

from pathlib import Path

from assay.pages.document import Block, Cell, Heading, Items, Span, TextTable
from assay.pages.documents.leaderboard import notes
from assay.pages.documents.more_tables import board_tables
from assay.pages.markdown import markdown
from assay.results.board.board_types import Leaderboard
from assay.results.board.stretches import NOT_KNOWN, served_in_words
from assay.run_file import write_whole
from assay.text.printable import one_line, printable


def report_document(board: Leaderboard) -> list[Block]:
    """The run on one page: the table, notes, and what produced the numbers."""
    model = ", ".join(f"{key} = {value}" for key, value in board.model.items() if value not in (None, {}, ""))
    provenance: list[list[Cell]] = [
        [row.task, Span(row.signature, "code"), Span(row.sha256[:16], "code"), Span(row.fingerprint[:16], "code")]
        for row in board.tasks
    ]
    scorers = scorers_table(board)
    versions = ", ".join(f"{name} {version}" for name, version in board.versions.items())
    return [
        Heading(1, board.model_label),
        *board_tables(board),
        Heading(2, "Notes"),
        Items([one_line(note) for note in notes(board)] or ["nothing: every attempt was made and scored"]),
        Heading(2, "What produced these numbers"),
        TextTable(header=["task", "scoring", "content sha256", "task fingerprint"], rows=provenance, numeric_from=9),
        *([] if scorers is None else [scorers]),
        Items(
            [
                f"model: {model}",
                f"served: {served_in_words(board.stretches) or NOT_KNOWN}",
                f"settings: {board.settings}",
                f"versions: {versions}",
                ("run fingerprint: ", Span(board.run_fingerprint, "code")),
                ("result fingerprint: ", Span(board.fingerprint, "code"), " (equal for runs that agree)"),
            ]
        ),
    ]


def scorers_table(board: Leaderboard) -> TextTable | None:
    """The scorers of tasks that describe them."""
    rows = [
        [row.task, row.display_name or "", scorer.display_name or scorer.key, scorer.purpose]
        for row in board.tasks
        for scorer in row.scorers
    ]
    return TextTable(header=["task", "called", "scorer", "purpose"], rows=rows, numeric_from=9) if rows else None


def report_page(board: Leaderboard) -> str:
    """The same as Markdown."""
    return markdown(report_document(board)) + "\n"


def write_report(path: Path, text: str) -> None:
    write_whole(path, printable(text).encode())
