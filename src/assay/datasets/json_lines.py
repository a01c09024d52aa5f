"""Datasets in JSON Lines: one object per line, blank lines skipped; a column may be missing from a row."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.datasets.rows import Row, RowDataset
from assay.overriding import override

_decoder = msgspec.json.Decoder(dict[str, Any])


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
            return _decoder.decode(line.removeprefix(b"\xef\xbb\xbf"))
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{self.path}:{number}: not a JSON object: {error}") from error


def existing_file(path: str, name: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise UsageError(f"dataset `{name}`: there is no file {file}")
    return file


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
