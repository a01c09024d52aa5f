"""The types of a table's columns: what every cell of a column looks like, or what the dataset's file says.

A column is `boolean`, `integer` or `float` when every cell that is not blank is one, else `string`. Numbers are written
as people write numbers: `007`, `+1`, `1,000`, more digits than a number can hold, and a column with both `3.10` and
`3.9` are text. A blank cell is null among numbers and truth values, and the empty text among texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, get_args

from assay.part_options import Doc

Cell = str | int | float | bool | None
Dtype = Literal["string", "integer", "float", "boolean"]
DTYPES: tuple[Dtype, ...] = get_args(Dtype)
Dtypes = Annotated[
    Literal["string"] | Mapping[str, Dtype] | None,
    Doc("What columns of a table hold, where they do not hold what they look like; `string` keeps every cell as text."),
]
"""The option of datasets that are tables."""
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?\Z")
_MOST_DIGITS = 17
"""More do not fit into a float."""
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class ColumnGuess:
    """What a column may still be, after the cells seen so far."""

    def __init__(self) -> None:
        self._fits = dict.fromkeys(("boolean", "integer", "float"), True)
        self._seen = False
        self._decimals: set[int] = set()
        self._padded = False
        """Whether a number of several decimals ends with a zero."""

    def add(self, cell: str) -> None:
        if cell == "":
            return
        self._seen = True
        for dtype in [dtype for dtype, fits in self._fits.items() if fits]:
            self._fits[dtype] = _reads(cell, dtype)
        if self._fits["float"] and "." in cell:
            decimals = len(re.split("[eE]", cell)[0].partition(".")[2])
            self._decimals.add(decimals)
            self._padded = self._padded or (decimals > 1 and cell.endswith("0"))

    @property
    def dtype(self) -> str:
        for dtype in ("boolean", "integer") if self._seen else ():
            if self._fits[dtype]:
                return dtype
        versions = self._padded and len(self._decimals) > 1
        return "float" if self._seen and self._fits["float"] and not versions else "string"


def guess_types(header: Sequence[str], rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """The type of every column, from the cells of every row."""
    guesses = [ColumnGuess() for _ in header]
    for cells in rows:
        for guess, cell in zip(guesses, cells, strict=True):
            guess.add(cell)
    return {name: guess.dtype for name, guess in zip(header, guesses, strict=True)}


def _reads(cell: str, dtype: str) -> bool:
    if dtype == "boolean":
        return cell in _TRUTHS
    if dtype == "integer":
        return bool(_INTEGER.match(cell))
    digits = sum(map(str.isdigit, re.split("[eE]", cell)[0]))
    return bool(_NUMBER.match(cell)) and digits <= _MOST_DIGITS and abs(float(cell)) < float("inf")


def typed_cell(cell: str, dtype: str) -> Cell:
    """The value of a cell; `ValueError` when it is none of its type."""
    if dtype == "string":
        return cell
    if cell == "":
        return None
    if dtype == "boolean":
        if cell not in _TRUTHS:
            raise ValueError("not true or false")
        return _TRUTHS[cell]
    return int(cell) if dtype == "integer" else _finite(float(cell))


def _finite(number: float) -> float:
    if not abs(number) < float("inf"):
        raise ValueError("not a finite number")
    return number


def chosen_types(guessed: Mapping[str, str], dtypes: Mapping[str, str] | None) -> dict[str, str]:
    """The types that are used: those of the dataset's file, else the guessed ones. An id is a text."""
    return {**guessed, **({"sample_id": "string"} if "sample_id" in guessed else {}), **(dtypes or {})}
