"""The columns of a table, each with the type that holds all of its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json
from assay.stats.score_table import as_text
from assay.text.wording import hint

ColumnKind = Literal["bool", "int", "float", "text", "texts"]
"""`texts` is a list of texts."""

Cell = bool | int | float | str | Sequence[str] | None
Chunk = list[list[Any]]
"""Some rows, column by column."""

CHUNK_ROWS = 4096
SMALLEST, LARGEST = -(2**63), 2**63 - 1
_NUMERIC: tuple[ColumnKind, ...] = ("bool", "int", "float")
"""Each can hold the ones before it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type, and whether a row may have no value in it."""

    name: str
    kind: ColumnKind
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and the rows in chunks, read on demand."""

    columns: tuple[Column, ...]
    chunks: Callable[[], Iterator[Chunk]]
    """Every call reads the rows again."""


Reader = Callable[..., Any]
"""Reads the cell of a column from the parts of a row."""


def fields(kind: ColumnKind, *names: str, nullable: bool = False) -> list[tuple[Column, Reader]]:
    """Columns that are fields of the last part of a row."""
    return [(Column(name, kind, nullable), lambda *row, name=name: getattr(row[-1], name)) for name in names]


def table_of(
    columns: Sequence[tuple[Column, Reader]], names: Sequence[str] | None, rows: Callable[[], Iterable[tuple[Any, ...]]]
) -> Table:
    """The named columns, or all, over the rows. Names of columns are made distinct."""
    unique = distinct(column.name for column, _ in columns)
    renamed = [replace(column, name=name) for name, (column, _) in zip(unique, columns, strict=True)]
    places = chosen(renamed, names)
    readers = [columns[place][1] for place in places]
    return Table(
        tuple(renamed[place] for place in places),
        lambda: _chunks([read(*row) for read in readers] for row in rows()),
    )


def _chunks(rows: Iterator[Sequence[Cell]]) -> Iterator[Chunk]:
    while chunk := list(islice(rows, CHUNK_ROWS)):
        yield [list(column) for column in zip(*chunk, strict=True)]


@dataclass(slots=True)
class Seen:
    """The values of a column so far: the narrowest type that holds them all, and their number."""

    kind: ColumnKind | None = None
    values: int = 0

    def add(self, value: object) -> None:
        if value is None:
            return
        self.values += 1
        kind = kind_of(value)
        if kind != self.kind:
            self.kind = kind if self.kind is None else _wider(self.kind, kind)

    def together(self, other: Seen) -> Seen:
        kind = self.kind or other.kind
        if self.kind is not None and other.kind is not None:
            kind = _wider(self.kind, other.kind)
        return Seen(kind, self.values + other.values)

    def column(self, name: str, rows: int) -> Column:
        return Column(name, self.kind or "text", nullable=self.values < rows)


def kind_of(value: object) -> ColumnKind:
    """The type of a column that holds just this value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float"
    if isinstance(value, int):
        return "int" if SMALLEST <= value <= LARGEST else "float" if _is_float(value) else "text"
    return "text"


def _is_float(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _wider(first: ColumnKind, second: ColumnKind) -> ColumnKind:
    if first == second:
        return first
    if first in _NUMERIC and second in _NUMERIC:
        return max(first, second, key=_NUMERIC.index)
    return "text"


def cell(value: Any, kind: ColumnKind) -> Cell:
    """The value in the type of its column; lists and mappings as JSON."""
    if value is None:
        return None
    if kind == "float":
        return float(value)
    if kind == "int":
        return int(value)
    if kind == "text" and not isinstance(value, str):
        return canonical_json(value).decode() if isinstance(value, list | dict) else as_text(value)
    return value  # type: ignore[no-any-return]  # of the column's type already


def chosen(columns: Sequence[Column], names: Sequence[str] | None) -> list[int]:
    """The indices of the named columns, in the order of the names; of all when `names` is None."""
    if names is None:
        return list(range(len(columns)))
    if isinstance(names, str):
        names = [names]
    places = {column.name: place for place, column in enumerate(columns)}
    for name in names:
        if name not in places:
            raise UsageError(f"there is no column `{name}`. {hint(name, places, 'There are')}")
    return [places[name] for name in dict.fromkeys(names)]


def distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number after each that occurred before."""
    taken: dict[str, None] = {}
    for name in names:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken[unique] = None
    return list(taken)
