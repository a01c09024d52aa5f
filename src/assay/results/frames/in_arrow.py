"""A table as Arrow: in memory, or as a Parquet file that is written chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.results.frames.frame_columns import Table
from assay.results.frames.libraries import library

if TYPE_CHECKING:
    import pyarrow


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
    return pa.schema([pa.field(each.name, types[each.kind], nullable=each.nullable) for each in table.columns])
