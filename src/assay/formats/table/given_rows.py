"""Rows that a Python program passes: mappings, and the tables of pandas, polars, Arrow and Hugging Face."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.datasets.rows import Row
from assay.text.wording import in_python

_given: dict[str, list[Row]] = {}


def give(name: str, data: object) -> str:
    """Keep the rows for this process; returns the name of their task."""
    _given[name] = plain_rows(data)
    return f"rows:{name}"


def given_rows(name: str) -> list[Row]:
    if name not in _given:
        raise UsageError(f"rows:{name}: rows are passed by a Python program, to `assay.evaluate`")
    return _given[name]


def are_rows(data: object) -> bool:
    """Whether this is data in memory, and not the name, the path or the object of a task."""
    return _table_rows(data) is not None or (
        isinstance(data, Iterable) and not isinstance(data, str | bytes | Mapping) and not hasattr(data, "__fspath__")
    )


def plain_rows(data: object) -> list[Row]:
    """Every row as a mapping of plain values; `UsageError` for the first that is none, or has other columns."""
    items = _table_rows(data)
    if items is None:
        if not isinstance(data, Iterable):
            raise UsageError(f"{in_python(data)} holds no rows")
        items = data
    rows: list[Row] = []
    for number, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise UsageError(f"row {number} is {in_python(item)}; a row is a mapping of columns to values")
        row = {str(name): _plain(value) for name, value in item.items()}
        if rows and (missing := next((name for name in rows[0] if name not in row), None)) is not None:
            raise UsageError(f"row {number} has no `{missing}` (row 1 has {', '.join(rows[0])})")
        rows.append(row)
    return rows


def _table_rows(data: Any) -> Iterable[Any] | None:
    """The rows of a table object, by the method that its library has for them; an index is not data."""
    if hasattr(data, "to_dicts") and hasattr(data, "get_column"):  # polars
        return data.to_dicts()  # type: ignore[no-any-return]
    if hasattr(data, "to_pylist") and hasattr(data, "schema"):  # Arrow
        return data.to_pylist()  # type: ignore[no-any-return]
    if hasattr(data, "to_dict") and hasattr(data, "iloc"):  # pandas
        return data.to_dict("records")  # type: ignore[no-any-return]
    return None


def _plain(value: Any) -> Any:
    """What files can hold: numbers of numpy as Python's, a missing number as nothing, other things as their text."""
    if hasattr(value, "item") and not isinstance(value, list | dict) and getattr(value, "shape", None) == ():
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
