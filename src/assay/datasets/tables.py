"""Datasets in tables: CSV and TSV with a header row, sheets, JSON arrays, and Parquet where pyarrow is installed.

Parquet, JSON and sheets say what their columns hold. The columns of a CSV file hold what all their cells look like
(`cell_types.py`), unless the dataset says otherwise with `dtypes`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import BadZipFile

from msgspec import Meta

from assay.catalog import unknown_name
from assay.core.describe import DatasetInfo, describes
from assay.core.errors import UsageError
from assay.datasets.cell_types import Cell, Dtypes, chosen_types, guess_types, typed_cell
from assay.datasets.json_lines import FileDataset, JsonArray, JsonLines
from assay.datasets.rows import Row, RowDataset, WrittenRow
from assay.datasets.text_table import SEPARATORS, UTF_8, Encoding, Separator, opened_cells, separator_in
from assay.overriding import override
from assay.part_options import Doc, PathOption, part
from assay.prompts.written_text import as_data

if TYPE_CHECKING:
    from _csv import Reader

    from pyarrow.parquet import ParquetFile

_MAX_CELL = 16 * 1024 * 1024
_SHEET_ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")
_BATCH = 4096
"""Rows of a Parquet file that are decoded at a time: a run of the first few should not decode many more."""


class Csv(FileDataset):
    """Rows of a `.csv` or `.tsv` file. `dtypes` says what columns hold, or `string` of all of them."""

    def __init__(
        self,
        *,
        dtypes: Mapping[str, str] | str | None = None,
        separator: str | None = None,
        encoding: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._dtypes = dtypes
        self._said_separator = separator
        self._encoding = encoding or UTF_8

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

    @cached_property
    def _separator(self) -> str:
        return self._said_separator or separator_in(self.path, self._encoding)

    @contextmanager
    def _reading(self) -> Iterator[Reader]:
        csv.field_size_limit(_MAX_CELL)
        with opened_cells(self.path, self._encoding, self._separator) as lines:
            try:
                yield lines
            except csv.Error as error:
                unclosed = str(error) == "unexpected end of data"
                reason = "the file ends inside a cell that begins with a quotation mark" if unclosed else error
                raise UsageError(f"{self.path}:{lines.line_num}: {reason}") from error

    def _header(self, cells: list[str] | None) -> list[str]:
        if not cells:
            raise UsageError(f"{self.path}:1: expected a header row with column names")
        twice = [name for name in cells if cells.count(name) > 1]
        if twice:
            raise UsageError(f"{self.path}:1: the column `{twice[0]}` is given twice")
        if len(cells) == 1 and (meant := next((each for each in SEPARATORS if each in cells[0]), None)):
            raise UsageError(
                f"{self.path}:1: there is one column, `{cells[0][:60]}`. Where {meant!r} separates columns, say "
                f"`separator: {meant!r}`"
            )
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


class Sheet(FileDataset):
    """Rows of a sheet of an `.xlsx` file, whose first row names the columns."""

    def __init__(self, *, sheet: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._sheet = sheet

    @override
    def rows(self) -> Iterator[Row]:
        with self._opened() as book:
            lines = self._sheet_of(book).iter_rows(values_only=True)
            header = [str(name) for name in next(lines, ()) if name is not None]
            if not header:
                raise UsageError(f"{self.path}:1: expected a first row with column names")
            if twice := [name for name in header if header.count(name) > 1]:
                raise UsageError(f"{self.path}:1: the column `{twice[0]}` is given twice")
            for number, cells in enumerate(lines, 2):
                if any(cell is not None for cell in cells):
                    if None in cells:
                        self._refuse_formulas(header, cells, number)
                    yield self._row(header, cells, number)

    def _refuse_formulas(self, header: list[str], cells: Sequence[Any], number: int) -> None:
        """`UsageError` for an empty cell that holds a formula: what wrote the file never calculated it."""
        for name, cell, at in zip(header, cells, range(len(header)), strict=False):
            if cell is None and (number, at) in self._formulas:
                raise UsageError(
                    f"{self.path}:{number}: the formula of `{name}` was never calculated; open the file in a "
                    "spreadsheet and save it"
                )

    @cached_property
    def _formulas(self) -> set[tuple[int, int]]:
        """The line and column of every formula."""
        with self._opened(data_only=False) as book:
            lines = enumerate(self._sheet_of(book).iter_rows(), 1)
            return {(number, at) for number, cells in lines for at, cell in enumerate(cells) if cell.data_type == "f"}

    def _row(self, header: list[str], cells: Sequence[Any], number: int) -> Row:
        if any(cell is not None for cell in cells[len(header) :]):
            raise UsageError(f"{self.path}:{number}: a cell lies outside of the {len(header)} columns that have a name")
        row: Row = {}
        for name, cell in zip(header, [*cells, *[None] * len(header)], strict=False):
            if isinstance(cell, str) and cell.startswith("#") and cell in _SHEET_ERRORS:
                raise UsageError(f"{self.path}:{number}: the cell of `{name}` holds the error {cell}")
            row[name] = cell.isoformat() if isinstance(cell, date | time) else cell
        return row

    def _sheet_of(self, book: Any) -> Any:
        names = book.sheetnames
        if self._sheet is None and len(names) > 1:
            raise UsageError(f"{self.path}: there are several sheets ({', '.join(names)}); say which with `sheet`")
        if self._sheet is not None and self._sheet not in names:
            raise UsageError(f"{self.path}: {unknown_name('sheet', self._sheet, names)}")
        return book[self._sheet or names[0]]

    @contextmanager
    def _opened(self, *, data_only: bool = True) -> Iterator[Any]:
        try:
            from openpyxl import load_workbook
        except ImportError as error:
            raise UsageError(
                f"{self.path}: sheets need openpyxl; install it with: pip install 'assay-eval[xlsx]'"
            ) from error
        try:
            book = load_workbook(self.path, read_only=True, data_only=data_only, keep_links=False)
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise UsageError(f"{self.path}: not an .xlsx file: {error}") from error
        try:
            yield book
        finally:
            book.close()


READERS: dict[str, Callable[..., RowDataset]] = {
    ".jsonl": JsonLines,
    ".csv": Csv,
    ".tsv": Csv,
    ".parquet": Parquet,
    ".json": JsonArray,
    ".xlsx": Sheet,
}
FORMATS = tuple(ending.removeprefix(".") for ending in READERS)


@describes(DatasetInfo())
@part("A file: .jsonl, .csv, .tsv, .parquet, .json or .xlsx.", example="file_path: quiz.csv, dtypes: {code: string}")
def table(
    *,
    path: Annotated[str, Meta(min_length=1), PathOption("Relative to the file that defines the dataset.", "file_path")],
    dtypes: Dtypes = None,
    separator: Separator = None,
    encoding: Encoding = None,
    sheet: Annotated[str | None, Doc("The sheet of an .xlsx file, where there are several.")] = None,
    **options: Any,
) -> RowDataset:
    """The reader for a file, by its ending."""
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: a dataset file ends in {', '.join(READERS)}")
    own: dict[str, Any] = {"dtypes": dtypes, "separator": separator, "encoding": encoding, "sheet": sheet}
    given = {name: value for name, value in own.items() if value is not None}
    for name in given:
        if reader is not (Sheet if name == "sheet" else Csv):
            raise UsageError(f"{path}: `{name}` is for {_FOR[name]}")
    return reader(path=path, **given, **options)


_FOR = {
    "dtypes": ".csv and .tsv; the values of this file have types already",
    "separator": ".csv and .tsv",
    "encoding": ".csv and .tsv",
    "sheet": ".xlsx",
}
