"""Cells of CSV files: untrusted text can neither control a terminal nor run in a spreadsheet."""

from __future__ import annotations

import re

from assay.text.printable import printable

_FORMULA = re.compile(r"[\t\r\n]*[=+\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def harmless(cell: str) -> str:
    """The text, with a quote before it where a spreadsheet would take it for a formula; numbers stay as they are."""
    if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        cell = f"'{cell}"
    return printable(cell)
