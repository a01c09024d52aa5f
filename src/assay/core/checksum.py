"""The tail of every line of a journal: its number, and a checksum of all that comes before it.

    {"key":"…", …,"line":57,"sum":"1a2b3c4d"}

The checksum is a CRC-32 of the record's bytes that starts from the number. It detects damage and manual edits, and the
numbers reveal lines that were removed, duplicated or moved. It is not a signature and does not prevent forgery.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

_TAIL = re.compile(rb',"line":([1-9][0-9]{0,14}),"sum":"([0-9a-f]{8})"\}\n\Z')
TAIL_BYTES = 64
"""An upper bound for the tail of a line."""


def with_checksums(records: Iterable[bytes], first: int) -> bytes:
    """The journal lines of records (JSON objects without a newline), numbered from `first`."""
    parts: list[bytes] = []
    for number, record in enumerate(records, first):
        body = record[:-1]
        parts.append(body)
        parts.append(b',"line":%d,"sum":"%08x"}\n' % (number, crc32(body, number)))
    return b"".join(parts)


def record_of(line: bytes) -> bytes:
    """The record of a line, without the number and the checksum."""
    tail = _tail(line)
    return line[:-1] if tail is None else line[: tail.start()] + b"}"


def number_of(line: bytes) -> int | None:
    """The number in a line's tail; None for a line without a checksum, as older versions wrote them."""
    tail = _tail(line)
    return None if tail is None else int(tail[1])


def tail_bytes(number: int) -> int:
    """The length of the tail of the line with this number."""
    return len(b',"line":,"sum":"01234567"}\n') + len(str(number))


def is_unchanged(line: bytes) -> bool:
    """Whether the checksum of a line matches; a line without one passes."""
    tail = _tail(line)
    return tail is None or int(tail[2], 16) == crc32(line[: tail.start()], int(tail[1]))


def is_line(line: bytes, number: int) -> bool:
    """Whether this is the unchanged line of this number: faster than parsing the number first."""
    return line[-11:] == b'%08x"}\n' % crc32(line[: -tail_bytes(number)], number)


def _tail(line: bytes) -> re.Match[bytes] | None:
    return _TAIL.search(line, max(0, len(line) - TAIL_BYTES))
