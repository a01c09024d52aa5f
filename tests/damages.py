"""Every kind of damage that a journal can take, each made on real bytes, and changes that are no damage."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from assay.storage.checksum import record_of
from tests.journals import rewritten

Lines = list[bytes]


class Damage(NamedTuple):
    """How the lines of a journal change, and which of them (counted from 1) is the first that is damaged."""

    change: Callable[[Lines], Lines]
    first: int
    lines: int = 1
    """How many lines of the new file are damaged."""
    lost: int = 1
    """How many attempts have no intact line any more."""


def at(number: int, change: Callable[[bytes], bytes]) -> Callable[[Lines], Lines]:
    return lambda lines: [change(line) if n == number else line for n, line in enumerate(lines, 1)]


def flipped(place: Callable[[bytes], int], bit: int = 1) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        changed = bytearray(line)
        changed[place(line)] ^= bit
        assert ord("\n") not in changed[:-1]
        return bytes(changed)

    return change


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        assert old in line
        return line.replace(old, new, 1)

    return change


def without_tail(line: bytes) -> bytes:
    return record_of(line) + b"\n"


def zeroed_page(lines: Lines) -> Lines:
    """A page of zeros over the end of the third line and the beginning of the fourth."""
    data = b"".join(lines)
    place = len(b"".join(lines[:3])) - 40
    return [data[:place] + bytes(80) + data[place + 80 :]]


DAMAGES = {
    "a flipped bit in the text": Damage(at(3, flipped(lambda line: line.index(b'"prediction":"') + 14)), 3),
    "a flipped bit in the score": Damage(at(3, flipped(lambda line: line.index(b'"score":') + 8)), 3),
    "a flipped bit in the key": Damage(at(3, flipped(lambda line: line.index(b'"key":"') + 9)), 3),
    "a flipped bit in the name of the number": Damage(at(3, flipped(lambda line: line.rindex(b'"line"') + 2)), 3),
    "a flipped bit in the checksum": Damage(at(3, flipped(lambda line: len(line) - 5)), 3),
    "an edited score": Damage(at(3, replaced(b'"score":0.0', b'"score":1.0')), 3),
    "another line number": Damage(at(3, replaced(b'"line":3,', b'"line":4,')), 3),
    "a checksum that was removed": Damage(at(3, lambda line: line[: line.rindex(b',"sum"')] + b"}\n"), 3),
    "a line without number and checksum": Damage(at(3, without_tail), 3),
    "the last line without number and checksum": Damage(lambda lines: [*lines[:-1], without_tail(lines[-1])], 12),
    "a page of zeros in the middle": Damage(zeroed_page, 3, lines=1, lost=2),
    "a line that is cut in the middle": Damage(at(3, lambda line: line[: len(line) // 2] + b"\n"), 3),
    "a line that is cut before its newline": Damage(at(3, lambda line: line[:-1]), 3, lines=1, lost=2),
    "two lines that are joined by a flipped newline": Damage(at(3, flipped(lambda line: -1, 32)), 3, lost=2),
    "bytes that are not UTF-8": Damage(at(3, replaced(b"no idea", b"no \xff\xfe a")), 3),
    "a line longer than any run writes": Damage(at(3, lambda line: b"x" * 70_000 + line), 3),
    "an empty line": Damage(lambda lines: [*lines[:2], b"\n", *lines[2:]], 3, lost=0),
    "a line of something else": Damage(lambda lines: [*lines[:2], b"not a record\n", *lines[2:]], 3, lost=0),
    "a line of something else, with a checksum": Damage(
        lambda lines: [*lines[:2], rewritten(lines[2], record_of(lines[2]), b'{"a":1}'), *lines[2:]], 3, lost=0
    ),
    "an end that is no journal line": Damage(lambda lines: [*lines, b"something else"], 13, lost=0),
}

FORGED = {
    "bytes that are not UTF-8, with a checksum": Damage(
        at(3, lambda line: rewritten(line, b"no idea", b"no \xff\xfe a")), 3
    ),
    "a number that no column holds, with a checksum": Damage(
        at(3, lambda line: rewritten(line, b'"index":2', b'"index":99999999999')), 3
    ),
}
"""What no accident makes: refused by whoever reads the field, and set aside by a repair."""

NO_DAMAGE: dict[str, Callable[[Lines], Lines]] = {
    "lines in another order": lambda lines: lines[::-1],
    "a doubled line": lambda lines: [*lines, lines[2]],
    "a backup after the original": lambda lines: lines * 2,
    "a torn last line": lambda lines: [*lines, lines[2][:50]],
    "zeros at the end": lambda lines: [*lines, bytes(5000)],
    "an edited score with a recomputed checksum": at(3, lambda line: rewritten(line, b'"score":0.0', b'"score":1.0')),
}
"""What readers accept: the last of these cannot be told from what a run wrote."""
