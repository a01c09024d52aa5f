"""A table as a polars DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.results.frames.frame_columns import Table
from assay.results.frames.libraries import library

if TYPE_CHECKING:
    import polars


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
