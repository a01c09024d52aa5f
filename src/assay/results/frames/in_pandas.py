"""A table as a pandas DataFrame: plain types where every row has a value, pandas' own missing values elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.results.frames.frame_columns import Column, Table
from assay.results.frames.libraries import library

if TYPE_CHECKING:
    import pandas

DTYPES = {"bool": ("bool", "boolean"), "int": ("int64", "Int64"), "float": ("float64", "float64")}
"""For a column without missing values, and for one with; among floats those are NaN, as everywhere in pandas."""


def to_pandas(table: Table) -> pandas.DataFrame:
    pd = library("pandas", "to_pandas()")
    text = "str" if int(pd.__version__.partition(".")[0]) >= 3 else "object"  # before 3, `str` turns None into "None"
    dtypes = [_dtype(column, text) for column in table.columns]
    # chunk by chunk, so that a million rows are never a million lists of Python objects
    parts: list[list[Any]] = [[] for _ in table.columns]
    for chunk in table.chunks():
        for part, values, dtype in zip(parts, chunk, dtypes, strict=True):
            part.append(pd.Series(values, dtype=dtype))
    series = [
        pd.concat(part, ignore_index=True) if part else pd.Series([], dtype=dtype)
        for part, dtype in zip(parts, dtypes, strict=True)
    ]
    frame: pandas.DataFrame = pd.DataFrame(
        {column.name: each for column, each in zip(table.columns, series, strict=True)}
    )
    return frame


def _dtype(column: Column, text: str) -> str:
    if column.kind == "texts":
        return "object"
    return text if column.kind == "text" else DTYPES[column.kind][column.nullable]
