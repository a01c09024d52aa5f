"""Ids that are given twice, found in four bytes per sample: a file of millions must not fill the memory with its ids.

A quick first pass takes a 32-bit checksum of every id. Only ids whose checksum came up twice can be
repeated, and only those are remembered, exactly, by the full pass.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

import msgspec

from assay.reading.strict_json import MAX_LINE_BYTES

SMALL_FILE_BYTES = 4 << 20
"""The ids of a smaller file are remembered as they are: there are not many."""


class FirstLines:
    """On which line each id was first given, as far as that can matter."""

    def __init__(self, suspects: frozenset[int] | None) -> None:
        """`suspects` are the checksums that came up twice; None suspects every id."""
        self._suspects = suspects
        self._lines: dict[str, int] = {}

    def of(self, name: str, number: int) -> int:
        """The line that gave this id first: `number` itself, unless there was one before."""
        if self._suspects is not None and _checksum(name) not in self._suspects:
            return number
        return self._lines.setdefault(name, number)


def first_lines(path: Path, id_field: str) -> FirstLines:
    """Made ready for a walk over this file of JSON lines."""
    try:
        small = path.stat().st_size <= SMALL_FILE_BYTES
    except (OSError, ValueError):
        small = True  # the full pass reports what is wrong with the file
    return FirstLines(None if small else repeated(_checksums(path, id_field)))


def repeated(checksums: Iterable[int]) -> frozenset[int]:
    """Those that came up more than once."""
    import numpy as np

    gathered = np.asarray(array("I", checksums))
    gathered.sort()
    return frozenset(gathered[1:][gathered[1:] == gathered[:-1]].tolist())


def _checksums(path: Path, id_field: str) -> Iterable[int]:
    """Lines that are not records are skipped here; the full reader reports them."""
    kind = msgspec.defstruct("Named", [("id", str, msgspec.field(name=id_field))])
    decode = msgspec.json.Decoder(kind).decode
    with path.open("rb", buffering=1 << 20) as file:
        # an overlong line is read in pieces, none of which is a record
        while line := file.readline(MAX_LINE_BYTES):
            try:
                name: str = decode(line.removeprefix(b"\xef\xbb\xbf")).id  # type: ignore[attr-defined]
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            yield _checksum(name)


def _checksum(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass"))
