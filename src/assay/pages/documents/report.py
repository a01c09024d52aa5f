"""A run on one Markdown page: `report.md`."""

from __future__ import annotations

from pathlib import Path

from assay.core.fingerprint import canonical_json
from assay.costs.prices import dated
from assay.pages.document import Block, Cell, Heading, Items, Span, TextTable
from assay.pages.documents.leaderboard import notes
from assay.pages.documents.more_tables import board_document
from assay.pages.markdown import markdown
from assay.results.board.board_types import Leaderboard
from assay.results.board.stretches import NOT_KNOWN, served_in_words
from assay.run_file import write_whole
from assay.text.numbers import MISSING
from assay.text.printable import one_line, printable


def report_document(board: Leaderboard) -> list[Block]:
    """The run on one page: the table, notes, and what produced the numbers."""
    scorers = scorers_table(board)
    return [
        Heading(1, board.model_label),
        *board_document(board),
        Heading(2, "Notes"),
        Items([one_line(note) for note in notes(board)] or ["nothing: every attempt was made and scored"]),
        Heading(2, "What produced these numbers"),
        signatures_table(board),
        *([] if scorers is None else [scorers]),
        Items([(f"{name}: ", fact) for name, fact in facts_of(board).items()]),
    ]


def facts_of(board: Leaderboard) -> dict[str, Cell]:
    """What produced the numbers, apart from the tasks."""
    cost = board.cost
    return {
        "started": board.created or MISSING,
        "command": Span(" ".join(board.command) or MISSING, "code"),
        "model": _as_json(board.model),
        "served": served_in_words(board.stretches) or NOT_KNOWN,
        "settings": _as_json(board.settings),
        "versions": ", ".join(f"{name} {version}" for name, version in board.versions.items()),
        "sandbox": _as_json(board.sandbox),
        "prices": MISSING if cost is None or cost.source is None else dated(cost.source, cost.date),
        "run fingerprint": Span(board.run_fingerprint, "code"),
        "result fingerprint (equal for runs that agree)": Span(board.fingerprint, "code"),
    }


def _as_json(value: object) -> Span:
    return Span(canonical_json(value).decode() if value else MISSING, "code")


def signatures_table(board: Leaderboard) -> TextTable:
    """How the number of each task is made, and by which files."""
    rows: list[list[Cell]] = [
        [row.task, *(Span(text, "code") for text in (row.signature, row.sha256, row.fingerprint))]
        for row in board.tasks
    ]
    return TextTable(header=["task", "scoring", "content sha256", "task fingerprint"], rows=rows, numeric_from=9)


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
