"""Datasets in tables: CSV and TSV with a header row, and Parquet where pyarrow is installed.

Every cell of a CSV file is text, and an empty cell is the empty text: nothing is guessed. Templates and filters see
what is written; a filter's expression reads `"3"` as 3 by its own rule.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.datasets.json_lines import JsonLines, existing_file, file_sha256
from assay.datasets.rows import Row, RowDataset

_MAX_CELL = 16 * 1024 * 1024


class Csv(RowDataset):
    """Rows of a `.csv` or `.tsv` file."""

    def __init__(self, *, path: str, name: str | None = None, **options: Any) -> None:
        super().__init__(name=name or Path(path).stem, **options)
        self.path = existing_file(path, self.name)

    def rows(self) -> Iterator[Row]:
        csv.field_size_limit(_MAX_CELL)
        delimiter = "\t" if self.path.suffix.lower() == ".tsv" else ","
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file, delimiter=delimiter, strict=True)
                header = self._header(next(lines, None))
                for cells in lines:
                    if cells:
                        yield self._row(header, cells, lines.line_num)
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

    def _row(self, header: list[str], cells: list[str], number: int) -> Row:
        if len(cells) != len(header):
            raise UsageError(f"{self.path}:{number}: {len(cells)} cells where the header has {len(header)} columns")
        return dict(zip(header, cells, strict=True))

    @cached_property
    def sha256(self) -> str:
        return file_sha256(self.path)


class Parquet(RowDataset):
    """Rows of a `.parquet` file, one record batch in memory at a time."""

    def __init__(self, *, path: str, name: str | None = None, **options: Any) -> None:
        super().__init__(name=name or Path(path).stem, **options)
        self.path = existing_file(path, self.name)

    def rows(self) -> Iterator[Row]:
        try:
            from pyarrow import ArrowInvalid, parquet
        except ImportError as error:
            raise UsageError(
                f"{self.path}: Parquet needs pyarrow; install it with: pip install 'assay-eval[parquet]'"
            ) from error
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches():
                    yield from batch.to_pylist()
        except ArrowInvalid as error:
            raise UsageError(f"{self.path}: not a Parquet file: {error}") from error

    @cached_property
    def sha256(self) -> str:
        return file_sha256(self.path)


READERS: dict[str, Callable[..., RowDataset]] = {".jsonl": JsonLines, ".csv": Csv, ".tsv": Csv, ".parquet": Parquet}


def table(*, path: str, **options: Any) -> RowDataset:
    """The reader for a file, by its ending."""
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: a dataset file ends in {', '.join(READERS)}")
    return reader(path=path, **options)
