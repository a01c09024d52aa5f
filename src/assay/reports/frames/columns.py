"""The columns of a table: what type each has, found by looking at every value that goes into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from assay.core.errors import UsageError
from assay.core.fingerprint import canonical_json
from assay.stats.score_table import as_text
from assay.wording import hint

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
    """Columns, and the rows in chunks, read when they are asked for."""

    columns: tuple[Column, ...]
    chunks: Callable[[], Iterator[Chunk]]
    """Every call reads the rows again."""


Reader = Callable[..., Any]
"""Reads the cell of a column out of what a row is made of."""


def table_of(
    columns: Sequence[tuple[Column, Reader]], names: Sequence[str] | None, rows: Callable[[], Iterable[tuple[Any, ...]]]
) -> Table:
    """The named columns, or all, over what `rows` gives. Every column's name is made distinct."""
    unique = distinct(column.name for column, _ in columns)
    renamed = [replace(column, name=name) for name, (column, _) in zip(unique, columns, strict=True)]
    places = chosen(renamed, names)
    readers = [columns[place][1] for place in places]
    return Table(
        tuple(renamed[place] for place in places),
        lambda: _chunks(([read(*row) for read in readers] for row in rows()), len(readers)),
    )


def _chunks(rows: Iterable[Sequence[Cell]], width: int) -> Iterator[Chunk]:
    held: list[Sequence[Cell]] = []
    for row in rows:
        held.append(row)
        if len(held) == CHUNK_ROWS:
            yield _turned(held, width)
            held = []
    if held:
        yield _turned(held, width)


def _turned(rows: list[Sequence[Cell]], width: int) -> Chunk:
    return [[row[at] for row in rows] for at in range(width)]


@dataclass(slots=True)
class Seen:
    """A column as seen so far: the narrowest type that holds every value, and how many values there were."""

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


def _wider(one: ColumnKind, other: ColumnKind) -> ColumnKind:
    if one == other:
        return one
    if one in _NUMERIC and other in _NUMERIC:
        return max(one, other, key=_NUMERIC.index)
    return "text"


def cell(value: Any, kind: ColumnKind) -> Cell:
    """A value as its column holds it; lists and mappings as JSON."""
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
    """Where the named columns stand, in the order they were asked for; all of them when none is named."""
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
    """The names, each once: one that was there before gets a number."""
    taken: set[str] = set()
    found = []
    for name in names:
        unique, number = name, 2
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        taken.add(unique)
        found.append(unique)
    return found
