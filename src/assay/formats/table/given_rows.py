"""Rows that a Python program passes: mappings, and the tables of pandas, polars, Arrow and Hugging Face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.datasets.rows import Row
from assay.text.wording import in_python

_given: dict[str, list[Row]] = {}


def give(name: str, data: Iterable[Any]) -> str:
    """Keep the rows for this process; returns the name of their task."""
    _given[name] = plain_rows(data)
    return f"rows:{name}"


def given_rows(name: str) -> list[Row]:
    if name not in _given:
        raise UsageError(f"rows:{name}: rows are passed by a Python program, to `assay.evaluate`")
    return _given[name]


def plain_rows(data: Iterable[Any]) -> list[Row]:
    """Every row as a mapping of plain values; `UsageError` for the first that is none, or has other columns."""
    rows: list[Row] = []
    for number, item in enumerate(items_of(data), 1):
        if not isinstance(item, Mapping):
            raise UsageError(f"row {number} is {in_python(item)}; a row is a mapping of columns to values")
        row = {str(name): _plain(value) for name, value in item.items()}
        if rows and (missing := next((name for name in rows[0] if name not in row), None)) is not None:
            raise UsageError(f"row {number} has no `{missing}` (row 1 has {', '.join(rows[0])})")
        rows.append(row)
    return rows


def items_of(data: Any) -> Iterable[Any]:
    """The rows of a table object, by the method that its library has for them; an index is not data."""
    match type(data).__module__.partition(".")[0], type(data).__name__:
        case "pandas", "DataFrame":
            rows: Iterable[Any] = data.to_dict("records")
        case "polars", "DataFrame":
            rows = data.to_dicts()
        case "polars", "LazyFrame":
            rows = data.collect().to_dicts()
        case "pyarrow", "Table":
            rows = data.to_pylist()
        case (("pandas" | "polars"), "Series"):
            raise UsageError("a Series is one column: pass the table that has the questions and the right answers too")
        case _ if isinstance(data, Mapping):
            raise UsageError("a mapping is one row: pass a list of rows, such as [{'question': …, 'target': …}]")
        case _:
            rows = data
    return rows


def _plain(value: Any) -> Any:
    """What files can hold: numbers of numpy as Python's, a missing number as nothing, other things as their text."""
    if type(value).__module__ == "numpy" and not isinstance(value, Iterable):
        value = value.item()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value == value else None  # noqa: PLR0124 - NaN is how tables say that there is none
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [_plain(item) for item in value]
    text = str(value)
    return None if text in ("NaT", "<NA>") else text
