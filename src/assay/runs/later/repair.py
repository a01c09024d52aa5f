"""The way back from a damaged journal: its damaged lines are set aside, and their attempts remain to be run again.

Lines that are intact keep every byte, and so their numbers: `assay verify` knows the gaps from `run.json`, where each
repair is recorded before the journal changes. Nothing is deleted: damaged lines are on the disk in
`journal.damaged.jsonl` before the journal is replaced, all at once. Killed at any moment, the journal is the old one or
the new one, and repairing again completes the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from assay.core.errors import SearchFolderError
from assay.core.journal import COPY_BYTES, Damaged, MayFail, Scored, lock_journal, read_journal, read_lines
from assay.core.regular_file import open_regular, open_to_append, read_regular
from assay.run_file import Repair, RunFile, read_run_file, write_whole, writing_whole
from assay.runs.finish import finish
from assay.runs.later.integrity import WholeLine
from assay.runs.progress import run_blocking
from assay.runs.shard_files import shard_files
from assay.storage.checksum import number_of
from assay.storage.key_set import KeySet
from assay.trust.consent import code_seal
from assay.user.seal import is_sealed

ASIDE = "journal.damaged.jsonl"
"""Where damaged lines are kept."""
DERIVED = ("leaderboard.json", "report.md")
MAX_GAPS = 1000


class Repaired(NamedTuple):
    """What a repair did."""

    lines: int
    """Damaged lines that were set aside."""
    aside: Path
    planned: int = 0
    remaining: int = 0
    """Attempts without a result: not yet run, failed, or set aside."""
    run: RunFile | None = None
    """None for a search."""


def repair(folder: Path, entries: type[MayFail]) -> Repaired:
    """Set the damaged lines of a run's journals aside, or those of a search, whose lines are `entries`."""
    try:
        run: RunFile | None = read_run_file(folder)
    except SearchFolderError:
        run = None
    kind = WholeLine if run is not None else entries
    lines = 0
    with ExitStack() as locks:
        for path in _journals(folder):
            locks.callback(os.close, lock_journal(path))
        for path in _journals(folder):
            lines += _set_aside(folder, path, kind)
    if run is None:
        return Repaired(lines, folder / ASIDE)
    if lines and not run.answers_of:  # an interrupted rescore has no leaderboard
        seal = code_seal(run.definitions)
        run_blocking(finish(folder, trust=seal is not None and is_sealed(folder, seal)))
    planned = sum(run.config.attempts_of(definition) for definition in run.definitions)
    return Repaired(lines, folder / ASIDE, planned, planned - len(_finished(folder)), run)


def _journals(folder: Path) -> list[Path]:
    journal = folder / "journal.jsonl"
    return [*([journal] if journal.exists() else []), *(path for _, path in shard_files(folder))]


def _set_aside(folder: Path, path: Path, kind: type[MayFail]) -> int:
    """Rewrite one journal without its damaged lines; returns how many there were."""
    damaged, missing = _damage(path, kind)
    if not damaged:
        return 0
    with open_regular(path) as file:
        _keep(folder / ASIDE, file, damaged)
        _record(folder, Repair(file=str(path.relative_to(folder)), lines=len(damaged), missing=missing, time=_now()))
        for name in DERIVED:  # they are made of the lines that go
            (folder / name).unlink(missing_ok=True)
        with writing_whole(path) as new:
            for piece in _pieces(file, _between(damaged, os.fstat(file.fileno()).st_size)):
                new.write(piece)
    return len(damaged)


def _damage(path: Path, kind: type[MayFail]) -> tuple[list[Damaged], tuple[tuple[int, int], ...]]:
    """The damaged lines, and the numbers that the others lack without them."""
    damaged: list[Damaged] = []
    missing: list[tuple[int, int]] = []
    expected, is_open = 1, False
    for line in read_lines(path, kind):
        if isinstance(line, Damaged):
            damaged.append(line)
            is_open = True
            continue
        number = number_of(line.line) or expected
        if is_open and number > expected:
            missing.append((expected, number - 1))
        expected, is_open = number + 1, False
    if len(missing) > MAX_GAPS:  # the rest as one: `run.json` has a bound
        missing[MAX_GAPS - 1 :] = [(missing[MAX_GAPS - 1][0], missing[-1][1])]
    return damaged, tuple(missing)


def _keep(aside: Path, file: BinaryIO, damaged: Sequence[Damaged]) -> None:
    """Append the damaged lines, unless they are the last ones there: an earlier repair was killed after this step."""
    ranges = [(line.place, line.size) for line in damaged]
    size = sum(map(len, _whole_lines(file, ranges)))
    descriptor = open_to_append(aside)
    try:
        end = os.fstat(descriptor).st_size
        if end >= size and _digest(_read(descriptor, end - size, size)) == _digest(_whole_lines(file, ranges)):
            return
        if end and os.pread(descriptor, 1, end - 1) != b"\n":
            _write(descriptor, b"\n")
        for piece in _whole_lines(file, ranges):
            _write(descriptor, piece)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole_lines(file: BinaryIO, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """What is in these places, each with a newline at its end."""
    for place in ranges:
        piece = b""
        for piece in _pieces(file, [place]):
            yield piece
        if not piece.endswith(b"\n"):
            yield b"\n"


def _pieces(file: BinaryIO, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    for place, size in ranges:
        yield from _read(file.fileno(), place, size)


def _read(descriptor: int, place: int, size: int) -> Iterator[bytes]:
    end = place + size
    while place < end and (piece := os.pread(descriptor, min(COPY_BYTES, end - place), place)):
        yield piece
        place += len(piece)


def _between(damaged: Sequence[Damaged], size: int) -> Iterator[tuple[int, int]]:
    """Everything else in the file: places and sizes."""
    begin = 0
    for line in damaged:
        yield begin, line.place - begin
        begin = line.place + line.size
    yield begin, size - begin


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _digest(pieces: Iterable[bytes]) -> bytes:
    digest = blake2b()
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def _record(folder: Path, now: Repair) -> None:
    """In `run.json`, of a run or of a search; once, also when an earlier repair was killed after this step."""
    path = folder / "run.json"
    plain = msgspec.json.decode(read_regular(path), type=dict[str, Any])
    repairs = msgspec.convert(plain.get("repairs", []), list[Repair])
    if repairs and msgspec.structs.replace(repairs[-1], time=now.time) == now:
        return
    plain["repairs"] = [*repairs, now]
    write_whole(path, msgspec.json.format(msgspec.json.encode(plain), indent=2))


def _finished(folder: Path) -> KeySet:
    """The keys of the attempts that are finished in the journal or in a shard."""
    finished = KeySet()
    for path in _journals(folder):
        for line in read_journal(path, WholeLine):
            if isinstance(line, Scored):
                finished.add(int(line.record.key, 16))
    return finished


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
