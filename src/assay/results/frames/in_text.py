"""A table as CSV or as JSON lines, chunk by chunk.

JSON lines hold the values unchanged. CSV is for spreadsheets: what looks like a formula is quoted, and invisible
characters are escaped (`csv_cells.py`); lists are JSON.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import msgspec

from assay.results.csv_cells import harmless
from assay.results.frames.frame_columns import Column, Table


def csv_chunks(table: Table) -> Iterator[str]:
    """A header line, then the rows; a cell without a value is empty."""
    yield _lines([[harmless(column.name) for column in table.columns]])
    for chunk in table.chunks():
        cells = [_csv_column(column, values) for column, values in zip(table.columns, chunk, strict=True)]
        yield _lines(zip(*cells, strict=True))


def json_line_chunks(table: Table) -> Iterator[str]:
    """One object per row, with a key for every column."""
    names = [column.name for column in table.columns]
    encode = msgspec.json.Encoder().encode
    for chunk in table.chunks():
        rows = (encode(dict(zip(names, row, strict=True))) for row in zip(*chunk, strict=True))
        yield b"".join(row + b"\n" for row in rows).decode()


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _csv_column(column: Column, values: list[Any]) -> list[Any]:
    if column.kind == "text":
        return [None if value is None else harmless(value) for value in values]
    if column.kind == "texts":
        return [harmless(msgspec.json.encode(value).decode()) for value in values]
    return values
