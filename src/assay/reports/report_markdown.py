"""A run on one Markdown page: `report.md`."""

from __future__ import annotations

from pathlib import Path

from assay.core.run_file import write_whole
from assay.printable import one_line, printable
from assay.reports.board import Leaderboard
from assay.reports.markdown import escaped, notes, table
from assay.reports.more_tables import board_tables


def report_page(board: Leaderboard) -> str:
    """The run on one page: the table, what to know besides, and what produced the numbers."""
    model = ", ".join(f"{key} = {value}" for key, value in board.model.items() if value not in (None, {}, ""))
    provenance = [
        [escaped(row.task), f"`{row.signature}`", f"`{row.sha256[:16]}`", f"`{row.fingerprint[:16]}`"]
        for row in board.tasks
    ]
    said = [f"- {one_line(note)}" for note in notes(board)] or ["- nothing: every attempt was made and scored"]
    return "\n".join(
        [
            f"# {escaped(board.adapter)}",
            "",
            board_tables(board),
            "",
            "## What to know besides",
            "",
            *said,
            "",
            "## What produced these numbers",
            "",
            table(["task", "scoring", "content sha256", "task fingerprint"], provenance, numeric_from=9),
            "",
            f"- model: {one_line(model)}",
            f"- settings: {one_line(str(board.settings))}",
            f"- versions: {', '.join(f'{name} {version}' for name, version in board.versions.items())}",
            f"- run fingerprint: `{board.run_fingerprint}`",
            f"- result fingerprint: `{board.fingerprint}` (equal for runs that agree)",
            "",
        ]
    )


def write_report(path: Path, text: str) -> None:
    write_whole(path, printable(text).encode())
