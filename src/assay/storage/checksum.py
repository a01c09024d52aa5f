"""The tail of every line of a journal: its number, and a checksum of all that comes before it.

    {"key":"…", …,"line":57,"sum":"1a2b3c4d"}

The checksum is a CRC-32. It detects damage and manual edits, and the numbers reveal lines that were removed, duplicated
or moved. It is not a signature and does not prevent forgery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

_TAIL = re.compile(rb',"line":([1-9][0-9]{0,14}),"sum":"[0-9a-f]{8}"\}\n\Z')
TAIL_BYTES = 64
"""An upper bound for the tail of a line."""


def with_checksums(records: Iterable[bytes], first: int) -> bytes:
    """The journal lines of records (JSON objects without a newline), numbered from `first`."""
    lines: list[bytes] = []
    for number, record in enumerate(records, first):
        line = b'%b,"line":%d,"sum":"' % (record[:-1], number)
        lines.append(b'%b%08x"}\n' % (line, crc32(line)))
    return b"".join(lines)


def is_intact(line: bytes) -> bool:
    """Whether a line is what was written: it ends with the checksum of all that comes before."""
    return line[-11:] == b'%08x"}\n' % crc32(line[:-11])


def record_of(line: bytes) -> bytes:
    """The record of a line, without the number and the checksum."""
    tail = _tail(line)
    return line[:-1] if tail is None else line[: tail.start()] + b"}"


def number_of(line: bytes) -> int | None:
    """The number in the tail of a line, or of the end of one; None where there is no tail."""
    tail = _tail(line)
    return None if tail is None else int(tail[1])


def _tail(line: bytes) -> re.Match[bytes] | None:
    return _TAIL.search(line, max(0, len(line) - TAIL_BYTES))
