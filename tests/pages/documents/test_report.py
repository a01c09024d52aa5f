"""`report.md`: the numbers, what else to know, what produced them; text of strangers stays text."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from tests.results.board.scripted_boards import BROKEN, board_of

from assay.pages.documents.report import report_page, write_report


def test_the_page_says_what_produced_the_numbers(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0], [BROKEN]]})
    page = report_page(board)
    assert f"- result fingerprint (equal for runs that agree): `{board.fingerprint}`" in page
    assert board.tasks[0].signature.replace("|", "\\|") in page, "a bar would end the cell"
    assert "1 of 2" in page or "failed" in page
    whole = report_page(board_of(tmp_path / "whole", {"t": [[1.0], [0.0]]}))
    assert "- nothing: every attempt was made and scored" in whole


def test_a_run_that_was_interrupted_is_not_called_whole(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0], [0.0]]})
    row = msgspec.structs.replace(board.tasks[0], total=5, remaining=3)
    page = report_page(msgspec.structs.replace(board, tasks=[row]))
    assert "- t: 3 of 5 attempts are not yet run\n- incomplete: rerun the same command" in page


def test_names_cannot_make_markup_headings_or_rows(tmp_path: Path) -> None:
    board = board_of(tmp_path, {"t": [[1.0]]})
    hostile = "x\n# owned\n| a | b |\n<script>"
    row = msgspec.structs.replace(board.tasks[0], task=hostile)
    page = report_page(msgspec.structs.replace(board, adapter=hostile, tasks=[row], model={"name": hostile}))
    assert not [line for line in page.splitlines() if line.startswith(("# owned", "| a | b |", "<script>"))]
    assert not re.search(r"(?<!\\)(<script>|\| b)", page)


def test_what_steers_a_terminal_is_not_written(tmp_path: Path) -> None:
    write_report(tmp_path / "report.md", "a\x1b[31mb\u202ec\n")
    text = (tmp_path / "report.md").read_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
