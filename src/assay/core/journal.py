"""The journal: append-only JSONL, one `Record` per line, the run's only source of truth.

A record is handed to the kernel with `os.write` before the next batch is taken, so a killed process loses nothing
that had finished; `fdatasync` runs in a thread at most every 250 ms, so a power cut loses at most that. A torn last
line is an attempt still owed: it is cut off when the journal is opened for writing, and skipped by readers.
A failed attempt that was made again has two lines; the later one counts.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from assay.core.attempt import unwritable
from assay.core.errors import UsageError
from assay.core.key_set import KeySet
from assay.core.types import Record

SYNC_SECONDS = 0.25

_encoder = msgspec.json.Encoder()
_T = TypeVar("_T")


class Journal:
    """The writing end. One process at a time: a second one is refused while the first lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise UsageError(
                f"{path.parent}: another process is writing this run. Wait for it, or choose another --run-dir."
            ) from error
        self._end = _cut_torn_line(self._file)
        self._synced = self._end
        self._last_sync = time.monotonic()
        self._syncing: asyncio.Task[None] | None = None
        self._sync_error: OSError | None = None

    def append(self, records: Iterable[Record]) -> list[Record]:
        """Write the records down, and answer them as written; 250 ms later at the latest they are on the disk."""
        lines = [_line(record) for record in records]
        self.write(b"".join(line for line, _ in lines))
        self._sync_soon()
        return [record for _, record in lines]

    def write(self, data: bytes) -> None:
        """Write whole lines or none: after a full disk the file ends where it ended before."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            _try_to_cut(self._file, self._end)
            raise UsageError(
                f"{self.path}: could not write: {error.strerror}. Nothing finished was lost; "
                "make room or permission, then run the same command again."
            ) from error
        self._end += len(data)

    def close(self) -> None:
        """Everything is on the disk, and another process may write."""
        try:
            if self._sync_error is not None:
                raise self._sync_error
            if self._synced < self._end:
                os.fdatasync(self._file)
        except OSError as error:
            raise UsageError(
                f"{self.path}: the disk did not keep what was written: {error.strerror}. "
                "Run the same command again to make what is missing."
            ) from error
        finally:
            os.close(self._file)

    def _sync_soon(self) -> None:
        now = time.monotonic()
        idle = self._syncing is None or self._syncing.done()
        if now - self._last_sync >= SYNC_SECONDS and idle:
            self._last_sync = now
            self._syncing = asyncio.get_running_loop().create_task(self._sync(self._end))

    async def _sync(self, end: int) -> None:
        try:
            failed = await asyncio.to_thread(_sync_failure, self._file)
        except (OSError, RuntimeError):
            return  # no thread could be had, say for want of descriptors: nothing was tried, the next sync does it all
        if failed is None:
            self._synced = max(self._synced, end)
        elif failed.errno != errno.EBADF:  # closed under us: close() has synced by then
            self._sync_error = failed  # the kernel tells it once, so the next sync may seem to succeed


def _sync_failure(file: int) -> OSError | None:
    """Put on the disk what was written; what the disk said when it could not."""
    try:
        os.fdatasync(file)
    except OSError as error:
        return error
    return None


def _line(record: Record) -> tuple[bytes, Record]:
    try:
        return _encoder.encode(record) + b"\n", record
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # one attempt's odd answer must not end the run, nor every run that goes on with it
        record = unwritable(record, error)
        return _encoder.encode(record) + b"\n", record


def read_records(path: Path) -> Iterator[Record]:
    """Every record in the order of writing, repeated attempts included."""
    return read_lines(path, Record)


def read_lines(path: Path, kind: type[_T]) -> Iterator[_T]:
    """Every whole line as `kind`, which may name only the fields it needs: the rest is skipped, and cheap."""
    return (decoded for _, decoded in read_both(path, kind))


def read_placed_lines(path: Path, kind: type[_T]) -> Iterator[tuple[int, _T]]:
    """Every whole line as `kind`, with the place where it begins, so that one can come back to it."""
    place = 0
    for line, decoded in read_both(path, kind):
        yield place, decoded
        place += len(line)


def read_both(path: Path, kind: type[_T]) -> Iterator[tuple[bytes, _T]]:
    """Every whole line as it stands in the file, and as `kind`."""
    decoder = msgspec.json.Decoder(kind)
    with open(path, "rb", buffering=1 << 20) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield line, decoder.decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise UsageError(
                    f"{path}, line {number}: not a journal record ({error}). "
                    "Delete this line to have its attempt made again."
                ) from error


class Outcome(msgspec.Struct):
    """Which attempt a line is about, and whether it failed: all that resume and merge go by."""

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,16}$")]
    failures: list[Any] = []


def finished_keys(path: Path) -> KeySet:
    """The keys of attempts that need not be made again. Failed ones are owed, unless a later line made up for it."""
    finished = KeySet()
    if not path.exists():
        return finished
    for line in read_lines(path, Outcome):
        if line.failures:
            finished.discard(int(line.key, 16))
        else:
            finished.add(int(line.key, 16))
    return finished


def _cut_torn_line(file: int) -> int:
    """Drop what follows the last newline; answer where the file now ends."""
    end = os.fstat(file).st_size
    position = end
    while position > 0:
        start = max(0, position - 65536)
        block = os.pread(file, position - start, start)
        newline = block.rfind(b"\n")
        if newline >= 0:
            position = start + newline + 1
            break
        position = start
    if position < end:
        os.ftruncate(file, position)
    return position


def _try_to_cut(file: int, end: int) -> None:
    try:
        os.ftruncate(file, end)
    except OSError:
        pass  # the torn line is cut when the journal is next opened
