"""Journals for tests: lines as a run writes them, each with its number and checksum."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from assay.storage.checksum import number_of, record_of, with_checksums


def journal_lines(records: Iterable[Any], first: int = 1) -> bytes:
    """The lines of records, of plain data, or of JSON."""
    return with_checksums([each if isinstance(each, bytes) else msgspec.json.encode(each) for each in records], first)


def write_lines(path: Path, records: Iterable[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(journal_lines(records))


def add_lines(path: Path, *records: Any) -> None:
    """Append lines, numbered on."""
    with path.open("ab") as file:
        file.write(journal_lines(records, path.read_bytes().count(b"\n") + 1))


def rewritten(line: bytes, old: bytes, new: bytes) -> bytes:
    """A line with other content and a checksum that matches it, as a forger would write it."""
    record = record_of(line)
    assert old in record
    return with_checksums([record.replace(old, new)], number_of(line) or 1)
