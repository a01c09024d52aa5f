"""Datasets in JSON: an object per line, blank lines skipped, or a list of objects; a row may lack a column."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cached_property
from math import isinf
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.regular_file import read_regular
from assay.datasets.rows import Row, RowDataset, WrittenRow, check_rows
from assay.overriding import override
from assay.reading.strict_json import BOM, StrictJsonError, count_keys, decode_strictly, is_plain


class _Number(float):
    """A number of a file that prints as another text than the file has."""

    text: str


def _number(text: str) -> float:
    number = _Number(text)
    if repr(float(number)) == text:
        return float(number)
    if isinf(number):
        raise ValueError(f"the number {text} is too large")
    number.text = text
    return number


_decoder = msgspec.json.Decoder(dict[str, Any], float_hook=_number)
_any_decoder = msgspec.json.Decoder(float_hook=_number)
_NEGATIVE_ZERO = re.compile(rb"-0(?![\d.eE])")


def _with_negative_zeros(text: bytes, decoded: Any) -> Any:
    """What was decoded, with the text of each `-0`, which the decoder takes for 0."""
    if not _NEGATIVE_ZERO.search(text):
        return decoded

    def integer(written: str) -> int | _Number:
        if written != "-0":
            return int(written)
        number = _Number(0)
        number.text = written
        return number

    return json.loads(text, parse_int=integer, parse_float=_number)


_MAX_DOCUMENT = 512 * 1024 * 1024


class FileDataset(RowDataset):
    """Rows of a file, whose bytes are its content."""

    def __init__(self, *, path: str, name: str | None = None, **options: Any) -> None:
        super().__init__(name=name or Path(path).stem, **options)
        self.path = existing_file(path, self.name)

    @property
    @override
    def where(self) -> str:
        return f"dataset `{self.name}` in {self.path}"

    @cached_property
    @override
    def sha256(self) -> str:
        return file_sha256(self.path)


class JsonLines(FileDataset):
    """Rows of a `.jsonl` file."""

    @override
    def rows(self) -> Iterator[Row]:
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.isspace():
                    yield self._row(line, number)

    def _row(self, line: bytes, number: int) -> Row:
        try:
            line = line.removeprefix(BOM)
            row = _decoder.decode(line)
            if not is_plain(line, count_keys(row)):
                decode_strictly(line)
            return written_row(_with_negative_zeros(line, row))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise UsageError(f"{self.path}:{number}: not a JSON object: {_why_not(line) or error}") from error


class JsonArray(FileDataset):
    """Rows of a `.json` file: a list of objects, read whole."""

    @override
    def rows(self) -> Iterator[Row]:
        return iter(self._all)

    @cached_property
    def _all(self) -> list[Row]:
        text = read_regular(self.path, _MAX_DOCUMENT).removeprefix(BOM)
        try:
            decode_strictly(text)
            rows = _with_negative_zeros(text, _any_decoder.decode(text))
        except StrictJsonError as error:
            raise UsageError(f"{self.path}: {error.detail}") from error
        except ValueError as error:  # a number is too large
            raise UsageError(f"{self.path}: {error}") from error
        if not isinstance(rows, list):
            raise UsageError(f"{self.path}: expected a list of objects, one for each row")
        return [written_row(row) for row in check_rows(rows, self.name)]


def written_row(row: Row) -> Row:
    """A row from the decoder, with the texts of its numbers where those print as others."""
    texts = _texts_taken(row)
    return WrittenRow(row, texts) if texts else row


def _why_not(line: bytes) -> str:
    """What strict JSON says of a line that could not be decoded; empty where it says nothing."""
    try:
        decode_strictly(line)
    except StrictJsonError as error:
        return error.detail
    return ""


def _texts_taken(values: Any) -> dict[Any, Any]:
    """The texts of numbers in it by their names, in lists by their places; all numbers become plain ones."""
    texts: dict[Any, Any] = {}
    for place, value in values.items() if isinstance(values, dict) else enumerate(values):
        if isinstance(value, _Number):
            texts[place], values[place] = value.text, float(value) if value.text != "-0" else 0
        elif isinstance(value, dict | list) and (inner := _texts_taken(value)):
            texts[place] = inner
    return texts


def existing_file(path: str, name: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"dataset `{name}`: there is no file {file}")
    return file


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
