"""Datasets in tables: CSV and TSV with a header row, and Parquet where pyarrow is installed.

Parquet says what its columns hold. The columns of a CSV file hold what all their cells look like (`cell_types.py`),
unless the dataset says otherwise with `dtypes`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from assay.catalog import unknown_name
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.datasets.cell_types import Cell, Dtypes, chosen_types, guess_types, typed_cell
from assay.datasets.json_lines import FileDataset, JsonLines
from assay.datasets.rows import Row, RowDataset, WrittenRow
from assay.overriding import override
from assay.part_options import PathOption, part
from assay.prompts.written_text import as_data

if TYPE_CHECKING:
    from _csv import Reader

    from pyarrow.parquet import ParquetFile

_MAX_CELL = 16 * 1024 * 1024
_BATCH = 4096
"""Rows of a Parquet file that are decoded at a time: a run of the first few should not decode many more."""


class Csv(FileDataset):
    """Rows of a `.csv` or `.tsv` file. `dtypes` says what columns hold, or `string` of all of them."""

    def __init__(self, *, dtypes: Mapping[str, str] | str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._dtypes = dtypes

    @override
    def rows(self) -> Iterator[Row]:
        columns = list(self.types.items())
        for cells, number in self._lines():
            row: Row = {}
            written: dict[str, str] = {}
            for cell, (name, dtype) in zip(cells, columns, strict=True):
                value = row[name] = self._typed(cell, name, dtype, number)
                if value is not cell and str(as_data(value)) != cell:
                    written[name] = cell
            yield WrittenRow(row, written) if written else row

    @cached_property
    def types(self) -> dict[str, str]:
        """What every column holds: `string`, `integer`, `float` or `boolean`."""
        header = self._columns_given
        if isinstance(self._dtypes, str):
            return dict.fromkeys(header, self._dtypes)
        for name in self._dtypes or ():
            if name not in header:
                raise UsageError(f"{self.where}: dtypes: {unknown_name('column', name, header)}")
        return chosen_types(guess_types(header, (cells for cells, _ in self._lines())), self._dtypes)

    def _typed(self, cell: str, name: str, dtype: str, number: int) -> Cell:
        try:
            return typed_cell(cell, dtype)
        except ValueError:
            declared = f"dtypes says that the column `{name}` holds {dtype} values"
            raise UsageError(f"{self.path}:{number}: {declared}, got `{cell[:40]}`") from None

    @cached_property
    def _columns_given(self) -> list[str]:
        with self._reading() as lines:
            return self._header(next(lines, None))

    def _lines(self) -> Iterator[tuple[list[str], int]]:
        """The cells of every row, and the line that it ends on."""
        header = self._columns_given
        with self._reading() as lines:
            next(lines)
            for cells in lines:
                if cells:
                    yield self._whole(header, cells, lines.line_num), lines.line_num

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        csv.field_size_limit(_MAX_CELL)
        delimiter = "\t" if self.path.suffix.lower() == ".tsv" else ","
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            try:
                yield lines
            except UnicodeDecodeError as error:
                raise UsageError(f"{self.path}: not UTF-8: {error.reason}") from error
            except csv.Error as error:
                raise UsageError(f"{self.path}:{lines.line_num}: {error}") from error

    def _header(self, cells: list[str] | None) -> list[str]:
        if not cells:
            raise UsageError(f"{self.path}:1: expected a header row with column names")
        twice = [name for name in cells if cells.count(name) > 1]
        if twice:
            raise UsageError(f"{self.path}:1: the column `{twice[0]}` is given twice")
        return cells

    def _whole(self, header: list[str], cells: list[str], number: int) -> list[str]:
        if len(cells) != len(header):
            raise UsageError(f"{self.path}:{number}: {len(cells)} cells where the header has {len(header)} columns")
        return cells


class Parquet(FileDataset):
    """Rows of a `.parquet` file, one record batch in memory at a time."""

    @override
    def rows(self) -> Iterator[Row]:
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()

    @override
    def known_size(self) -> int | None:
        """The file says how many rows it has; names of samples in it have to be compared row by row."""
        with self._opened() as file:
            there = file.schema_arrow.names
            if "sample_id" in there or not set(self._columns or ()) <= {*there, "sample_id"}:
                return None
            return int(file.metadata.num_rows)

    @contextmanager
    def _opened(self) -> Iterator[ParquetFile]:
        try:
            from pyarrow import ArrowInvalid, parquet
        except ImportError as error:
            raise UsageError(
                f"{self.path}: Parquet needs pyarrow; install it with: pip install 'assay-eval[parquet]'"
            ) from error
        try:
            with parquet.ParquetFile(self.path) as file:
                yield file
        except ArrowInvalid as error:
            raise UsageError(f"{self.path}: not a Parquet file: {error}") from error


READERS: dict[str, Callable[..., RowDataset]] = {".jsonl": JsonLines, ".csv": Csv, ".tsv": Csv, ".parquet": Parquet}
FORMATS = tuple(ending.removeprefix(".") for ending in READERS)


@describes(DatasetInfo())
@part("A file: .jsonl, .csv, .tsv or .parquet.", example="file_path: quiz.csv, dtypes: {code: string}")
def table(
    *,
    path: Annotated[str, Meta(min_length=1), PathOption("Relative to the file that defines the dataset.", "file_path")],
    dtypes: Dtypes = None,
    **options: Any,
) -> RowDataset:
    """The reader for a file, by its ending."""
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: a dataset file ends in {', '.join(READERS)}")
    if dtypes is None:
        return reader(path=path, **options)
    if reader is not Csv:
        raise UsageError(f"{path}: `dtypes` is for .csv and .tsv; the values of this file have types already")
    return Csv(path=path, dtypes=dtypes, **options)
