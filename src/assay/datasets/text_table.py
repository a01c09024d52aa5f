"""How a table of text is written: its separator and its encoding, as spreadsheets and programs write them."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Literal, NamedTuple

from assay.core.errors import UsageError
from assay.part_options import Doc

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = (",", ";", "\t", "|")
Separator = Annotated[
    Literal[",", ";", "\t", "|"] | None,
    Doc("Between the cells of a .csv or .tsv file: what its first line `sep=…` says, else a comma, or a tab in .tsv."),
]
Encoding = Annotated[str | None, Doc("Of a .csv or .tsv file, such as `cp1252`; UTF-8 when absent.")]
UTF_8 = "utf-8-sig"
_BYTE_ORDER_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SPREADSHEETS = "cp1252"
"""What spreadsheets of western languages write where they do not write Unicode."""
_LINES_LOOKED_AT = 100
_SAID = re.compile(r'"?sep=(.)"?\r?\n?')
"""The line above the header with which spreadsheets say what separates cells."""


class TextForm(NamedTuple):
    """How a file is written, and a sentence about it where that is not how such a file usually is."""

    separator: str
    encoding: str
    remarks: tuple[str, ...] = ()

    def options(self, path: Path) -> dict[str, str]:
        """What a dataset says of it: nothing where it is written as usual."""
        separator = {} if self.separator == _usual_separator(path) else {"separator": self.separator}
        return separator if self.encoding == UTF_8 else {**separator, "encoding": self.encoding}


def text_form(path: Path, separator: str | None = None, encoding: str | None = None) -> TextForm:
    """How a table is written, but for what is given. `UsageError` where two separators fit, or no encoding does."""
    encoding, remark = (encoding, "") if encoding is not None else _encoding_of(path)
    usual = _usual_separator(path)
    if separator is not None:
        return TextForm(separator, encoding, (remark,) if remark else ())
    separator = _separator_of(path, encoding)
    named = {"\t": "a tab", ",": "a comma"}.get(separator, f"`{separator}`")
    remarks = [f"the separator is {named}"] if separator != usual else []
    return TextForm(separator, encoding, (*remarks, *([remark] if remark else [])))


@contextmanager
def opened(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The file as text; `UsageError` where it is written in another encoding."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            yield file
    except LookupError as error:
        raise UsageError(f"{path}: there is no encoding `{encoding}`") from error
    except UnicodeError as error:
        name = "UTF-8" if encoding == UTF_8 else encoding
        reason = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
        hint = "; say what it is with `encoding`, such as `cp1252`" if encoding == UTF_8 else ""
        raise UsageError(f"{path}: not {name}: {reason}{hint}") from error


@contextmanager
def opened_cells(path: Path, encoding: str, separator: str) -> Iterator[Reader]:
    """The rows of a table from its header on; they count a line above it that says the separator."""
    with opened(path, encoding) as file:
        is_said = _SAID.fullmatch(file.readline())
        file.seek(0)
        lines = csv.reader(chain("\n", islice(file, 1, None)) if is_said else file, delimiter=separator, strict=True)
        if is_said:
            next(lines)
        yield lines


def separator_in(path: Path, encoding: str) -> str:
    """What separates the cells of a file: what its first line says, or else what is usual."""
    with opened(path, encoding) as file:
        said = _SAID.fullmatch(file.readline())
    if said is None:
        return _usual_separator(path)
    if said[1] not in SEPARATORS:
        known = ", ".join("a tab" if each == "\t" else f"`{each}`" for each in SEPARATORS)
        raise UsageError(f"{path}:1: `{said[1]}` is said to separate the cells; what can do so: {known}")
    return said[1]


def _usual_separator(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _encoding_of(path: Path) -> tuple[str, str]:
    with path.open("rb") as file:
        start = file.read(2)
        if b"\0" in start:  # half of a Latin letter
            return ("utf-16-le" if start[0] else "utf-16-be"), "the encoding is UTF-16"
        if start in _BYTE_ORDER_MARKS:
            return _BYTE_ORDER_MARKS[start], "the encoding is UTF-16"
        file.seek(0)
        decode = codecs.getincrementaldecoder("utf-8")().decode
        for number, line in enumerate(file, 1):
            try:
                decode(line)
            except UnicodeDecodeError:
                return _SPREADSHEETS, _not_utf_8(path, number, line)
    return UTF_8, ""


def _not_utf_8(path: Path, number: int, line: bytes) -> str:
    """What is read in place of UTF-8, with the first word that shows whether that is right."""
    try:
        words = re.findall(r"\w+", line.decode(_SPREADSHEETS))
    except UnicodeDecodeError:
        raise UsageError(f"{path}:{number}: neither UTF-8 nor Windows-1252; say `encoding`, such as cp1251") from None
    shown = next((word for word in words if not word.isascii()), "")[:40]
    return f"it is not UTF-8 and is read as Windows-1252, so that line {number} says `{shown}`"


def _separator_of(path: Path, encoding: str) -> str:
    """The one that cuts the header into columns and every row looked at into as many."""
    usual = separator_in(path, encoding)
    fitting = [separator for separator in SEPARATORS if _fits(path, encoding, separator)]
    if usual in fitting or not fitting:
        return usual
    if len(fitting) > 1:
        shown = " or ".join(f"`{separator}`" for separator in fitting)
        raise UsageError(f"{path}:1: the columns may be separated by {shown}; say which with `separator`")
    return fitting[0]


def _fits(path: Path, encoding: str, separator: str) -> bool:
    with opened_cells(path, encoding, separator) as lines:
        try:
            header = next(lines, [])
            return len(header) > 1 and all(
                len(cells) in (0, len(header)) for cells, _ in zip(lines, range(_LINES_LOOKED_AT), strict=False)
            )
        except csv.Error:
            return False
