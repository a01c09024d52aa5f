"""A table as a library has them (pandas, polars, Arrow), or as a Parquet file that is written chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.core.errors import UsageError
from assay.results.frames.frame_columns import Column, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

PANDAS_TYPES = {"bool": ("bool", "boolean"), "int": ("int64", "Int64"), "float": ("float64", "float64")}
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
    return text if column.kind == "text" else PANDAS_TYPES[column.kind][column.nullable]


def to_polars(table: Table) -> polars.DataFrame:
    pl = library("polars", "to_polars()")
    types = {
        "bool": pl.Boolean,
        "int": pl.Int64,
        "float": pl.Float64,
        "text": pl.String,
        "texts": pl.List(pl.String),
    }
    schema = {column.name: types[column.kind] for column in table.columns}
    parts = [
        pl.DataFrame([pl.Series(name, values, dtype=schema[name]) for name, values in zip(schema, chunk, strict=True)])
        for chunk in table.chunks()
    ]
    frame: polars.DataFrame = pl.concat(parts, rechunk=True) if parts else pl.DataFrame(schema=schema)
    return frame


def to_arrow(table: Table) -> pyarrow.Table:
    pa = library("pyarrow", "to_arrow()")
    return pa.Table.from_batches(_batches(pa, table), schema=_schema(pa, table))


def write_parquet(table: Table, file: BinaryIO) -> None:
    """Write the file, holding one chunk of rows in memory at a time."""
    pa, parquet = library("pyarrow", "Parquet"), library("pyarrow.parquet", "Parquet")
    with parquet.ParquetWriter(file, _schema(pa, table)) as writer:
        for batch in _batches(pa, table):
            writer.write_batch(batch)


def _batches(pa: Any, table: Table) -> Iterator[Any]:
    schema = _schema(pa, table)
    for chunk in table.chunks():
        arrays = [pa.array(values, type=each.type) for values, each in zip(chunk, schema, strict=True)]
        yield pa.record_batch(arrays, schema=schema)


def _schema(pa: Any, table: Table) -> Any:
    types = {
        "bool": pa.bool_(),
        "int": pa.int64(),
        "float": pa.float64(),
        "text": pa.string(),
        "texts": pa.list_(pa.string()),
    }
    return pa.schema([pa.field(column.name, types[column.kind], nullable=column.nullable) for column in table.columns])


def library(name: str, wanted_for: str) -> ModuleType:
    """The library, imported; `UsageError` where it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # it is installed, but one of its own dependencies is not
        package = name.partition(".")[0]
        raise UsageError(f"{wanted_for} needs {package}; install it with: pip install {package}") from error
