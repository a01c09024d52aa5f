"""The journal: append-only JSONL, one `Record` per line, the run's only source of truth.

A record is handed to the kernel with `os.write` before the next batch is taken, so a killed process loses nothing
that had finished; `fdatasync` runs in a thread every 250 ms, so a power cut loses no more than that. A torn last
line is an attempt that remains: readers skip it, and opening the journal for writing cuts it off. Every line ends
with its number and a checksum. A line is `Scored`, `Failed` or `Damaged`, and it is decided here only:
`read_lines` yields all three, and `read_journal`, which everything that computes a number goes through, refuses the
third by name. `assay repair` sets damaged lines aside.

An attempt may have several lines: it failed and was retried, two machines ran it, a backup was restored.
`Counting` decides which of them counts, for every reader.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Generic, Never, Protocol, TypeVar
from zlib import crc32

import msgspec

from assay.core.attempt import writable
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.regular_file import open_regular, open_to_append
from assay.core.types import Failure, Record
from assay.storage.checksum import TAIL_BYTES, is_intact, number_of, record_of, with_checksums
from assay.storage.key_set import KeySet
from assay.storage.reached import Reached, reached_in

SYNC_SECONDS = 0.25
MAX_LINE_BYTES = 256 << 20
"""The longest line that is written and read."""
COPY_BYTES = 1 << 20
LINE_BYTES = 1 << 13
"""Most lines are shorter."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode
_BEGINNING = b'{"key":"'
_NEWLINE = ord("\n")
_MASK = 2**64 - 1
_T = TypeVar("_T")
_F = TypeVar("_F", bound="MayFail")
_L = TypeVar("_L", bound="KeyedLine")
_D = TypeVar("_D")


class Journal:
    """The writing end. One process at a time: a second one is refused while the first lives."""

    def __init__(self, path: Path, *, own_parts: bool = False) -> None:
        """`own_parts`: third-party code makes the records, so each is read back before it is written."""
        self.path = path
        self._own_parts = own_parts
        self._file = lock_journal(path)
        try:
            self._end = _cut_torn_line(self._file, path)
            self._lines = _count_lines(self._file, self._end, path)
        except BaseException:
            os.close(self._file)
            raise
        self._last_sync = time.monotonic()
        self._thread: ThreadPoolExecutor | None = None
        self._syncing: Future[int] | None = None
        self._synced = self._end
        self._sync_error: OSError | None = None

    def append(self, records: list[Record]) -> list[Record]:
        """Write the records and return them as written; they are on the disk at most 250 ms later."""
        try:
            encoded = list(map(_encode, records))
            if self._own_parts:
                list(map(_decode, encoded))
        except (TypeError, ValueError, OverflowError, RecursionError):
            # one attempt's odd answer must not end the run each time it is resumed
            records = list(map(writable, records))
            encoded = list(map(_encode, records))
        if max(map(len, encoded), default=0) > MAX_LINE_BYTES - TAIL_BYTES:
            records = list(map(_short_enough, records))
            encoded = list(map(_encode, records))
        self.write(encoded)
        return records

    def write(self, records: list[bytes]) -> None:
        """Write records that are JSON already, each an object that begins with its `key`."""
        self._write(records)
        self._sync_soon()

    def copy(self, lines: Iterable[bytes]) -> None:
        """Copy lines of other journals; each gets the number and the checksum of its new place."""
        batch: list[bytes] = []
        size = 0
        for line in lines:
            batch.append(record_of(line))
            size += len(line)
            if size >= COPY_BYTES:
                self._write(batch)
                batch, size = [], 0
        self._write(batch)

    def close(self) -> None:
        """Sync everything to the disk, and release the lock."""
        try:
            self._join()
            if self._sync_error is not None:
                raise self._sync_error
            if self._synced < self._end:
                os.fdatasync(self._file)
        except OSError as error:
            raise UsageError(
                f"{self.path}: could not be saved to the disk: {error.strerror}. "
                "Rerun the same command to make the missing attempts."
            ) from error
        finally:
            if self._thread is not None:
                self._thread.shutdown(wait=False)
            os.close(self._file)

    def _write(self, records: list[bytes]) -> None:
        """Write whole lines or none: after a full disk the file ends where it ended before."""
        lines = with_checksums(records, self._lines + 1)
        try:
            written = os.write(self._file, lines)
            while written < len(lines):
                written += os.write(self._file, memoryview(lines)[written:])
        except OSError as error:
            with suppress(OSError):  # then the torn line is cut when the journal is next opened
                os.ftruncate(self._file, self._end)
            raise UsageError(
                f"{self.path}: could not write: {error.strerror}. Nothing finished was lost; "
                "free space or fix permissions, then rerun the same command."
            ) from error
        self._end += written
        self._lines += len(records)

    def _sync_soon(self) -> None:
        now = time.monotonic()
        if now - self._last_sync < SYNC_SECONDS or (self._syncing is not None and not self._syncing.done()):
            return
        self._join()
        self._last_sync = now
        self._thread = self._thread or ThreadPoolExecutor(1, "journal")
        with suppress(RuntimeError):  # no thread could be started: the next sync, or `close`, makes up for it
            self._syncing = self._thread.submit(_sync, self._file, self._end)

    def _join(self) -> None:
        """Wait for the current sync. The kernel reports an error only once, so it is kept."""
        if self._syncing is not None:
            try:
                self._synced = max(self._synced, self._syncing.result())
            except OSError as error:
                self._sync_error = self._sync_error or error
            self._syncing = None


def lock_journal(path: Path) -> int:
    """A descriptor of the journal, locked against other processes while it is open. The file is not changed."""
    file = open_to_append(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(file), os.stat(path)):
            # replaced by a repair, or moved aside, while it was opened: what is written to it would be lost
            raise FileNotFoundError(path)
    except OSError as error:
        os.close(file)
        raise UsageError(
            f"{path.parent}: another process is writing this run. Wait for it, or choose another --run-dir."
        ) from error
    return file


def _sync(file: int, end: int) -> int:
    os.fdatasync(file)
    return end


def _short_enough(record: Record) -> Record:
    size = len(_encode(record))
    if size <= MAX_LINE_BYTES - TAIL_BYTES:
        return record
    message = f"the attempt came to {size >> 20:,} MB, and a journal line holds at most {MAX_LINE_BYTES >> 20:,} MB"
    failures = (Failure(stage="solver", kind="bad_output", message=message),)
    return msgspec.structs.replace(
        record, failures=failures, targets=(), metadata={}, trace=None, last_request=None, scores=(), excluded=()
    )


class Scored(msgspec.Struct, Generic[_T], frozen=True, gc=False):
    """A line whose attempt succeeded: where it begins, its bytes, and the fields of the record that are needed."""

    place: int
    line: bytes
    record: _T


class Failed(msgspec.Struct, Generic[_T], frozen=True, gc=False):
    """A line whose attempt failed."""

    place: int
    line: bytes
    record: _T

    @property
    def reached(self) -> Reached:
        return reached_in(self.line)


class Damaged(msgspec.Struct, frozen=True):
    """A line that is not what a run wrote: nothing may be computed from its journal before it is set aside."""

    path: Path
    number: int
    """Which line of the file it is."""
    place: int
    size: int
    what: str
    """`edited`, `unchecked` or `unreadable`."""
    reason: str

    def error(self) -> DamagedError:
        folder = self.path.parents[self.path.parent.name == "shards"]
        return DamagedError(
            f"{self.path}, line {self.number}: {self.reason}. `assay repair {folder}` sets damaged lines aside, "
            f"so that their attempts can be run again; `assay verify {folder}` lists them."
        )

    def refuse(self) -> Never:
        raise self.error()


class DamagedError(UsageError):
    """A journal has a line that is not what a run wrote."""


class MayFail(Protocol):
    """The field that makes a line `Failed` rather than `Scored`."""

    @property
    def failures(self) -> Sequence[Any]: ...


def read_records(path: Path) -> Iterator[Record]:
    """Every record in the order of writing, repeated attempts included."""
    return (line.record for line in read_journal(path, Record))


def read_journal(path: Path, kind: type[_F]) -> Iterator[Scored[_F] | Failed[_F]]:
    """Every whole line, decoded as `kind`, which may have only the fields that are needed. Damage is refused."""
    return _lines(path, kind, Damaged.refuse)


def read_lines(
    path: Path, kind: type[_F], *, place: int = 0, lines: int = 0
) -> Iterator[Scored[_F] | Failed[_F] | Damaged]:
    """Every whole line, damaged ones included, from an offset that so many lines come before."""
    return _lines(path, kind, _as_it_is, place, lines)


def _as_it_is(damaged: Damaged) -> Damaged:
    return damaged


def _lines(
    path: Path, kind: type[_F], on_damage: Callable[[Damaged], _D], place: int = 0, at: int = 0
) -> Iterator[Scored[_F] | Failed[_F] | _D]:
    decode = msgspec.json.Decoder(kind).decode
    with open_regular(path) as file:
        file.seek(place)
        for line in iter(partial(file.readline, MAX_LINE_BYTES + 1), b""):
            at += 1
            if line[-11:] == b'%08x"}\n' % crc32(line[:-11]):  # `is_intact`, without the time that a call takes
                try:
                    record = decode(line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                    why = f"not a journal record ({error})"
                    yield on_damage(Damaged(path, at, place, len(line), "unreadable", why))
                else:
                    yield Failed(place, line, record) if record.failures else Scored(place, line, record)
                place += len(line)
            elif line[-1] != _NEWLINE and len(line) <= MAX_LINE_BYTES and _is_torn(line):
                return
            else:
                size = _size_of(line, file)
                yield on_damage(Damaged(path, at, place, size, *_what_is_wrong(line)))
                place += size


def _is_torn(line: bytes) -> bool:
    """Whether a line without an end is the beginning of a record; a power cut may leave zeros."""
    return _BEGINNING.startswith(line[: len(_BEGINNING)]) or not line.strip(b"\0")


def _size_of(line: bytes, file: BinaryIO) -> int:
    """The size of a line of which this is the beginning: what is longer than any line is not held in memory."""
    size = len(line)
    while line and line[-1] != _NEWLINE:
        line = file.readline(COPY_BYTES)
        size += len(line)
    return size


def _what_is_wrong(line: bytes) -> tuple[str, str]:
    if len(line) > MAX_LINE_BYTES:
        return "unreadable", f"has more than {MAX_LINE_BYTES >> 20:,} MB, which no run writes"
    if line[-1] != _NEWLINE:
        return "unreadable", "the journal ends in something that is not a journal line"
    if number_of(line) is None:
        return "unchecked", "has no checksum, though every run writes one"
    return "edited", "was changed after it was written: its checksum does not match"


class KeyedLine(MayFail, Protocol):
    """The fields that `Counting` needs of a line."""

    @property
    def key(self) -> str: ...


class Keys(Protocol):
    """Keys of finished attempts."""

    def add(self, key: int, /) -> bool: ...

    def __contains__(self, key: object, /) -> bool: ...


class Counting:
    """Which line of an attempt counts, in any order: the first that succeeded, else the last that got furthest."""

    def __init__(self, finished: Keys | None = None, failed: dict[int, tuple[Reached, int]] | None = None) -> None:
        self.finished: Keys = KeySet() if finished is None else finished
        self.failed: dict[int, tuple[Reached, int]] = {} if failed is None else failed
        """The attempts that only failed so far, each with how far the line that counts got, and its place."""

    def succeeds(self, key: int) -> bool:
        """Whether the line of a success counts; failures of the attempt then do not."""
        if self.failed:
            self.failed.pop(key, None)
        return self.finished.add(key)

    def fails(self, key: int, reached: Reached, place: int) -> bool:
        """Whether the line of a failure counts so far; other failures of the attempt then do not."""
        if key in self.finished or (key in self.failed and reached < self.failed[key][0]):
            return False
        self.failed[key] = reached, place
        return True

    def counts(self, key: int, reached: Reached | None, place: int) -> bool:
        """Whether a line counts as far as is known by now; a success has reached everything, which is None here."""
        return self.succeeds(key) if reached is None else self.fails(key, reached, place)


def counting_lines(
    path: Path, kind: type[_L], on_failure: Callable[[_L], object] | None = None
) -> Iterator[tuple[int, _L]]:
    """The offset and the decoded line that counts, for each attempt; nothing where there is no journal.

    Attempts that succeeded come in the order of the file, then those that only failed. `on_failure` is called once with
    every failure before a success, even if it does not count in the end: it has cost something too.
    """
    if not path.exists():
        return
    rule, failures = Counting(KeySet(about_how_many(path))), KeySet()
    add, failed = rule.finished.add, rule.failed
    for line in read_journal(path, kind):
        key = hash(line.record.key) & _MASK  # valid in this process only, and faster than the key's own number
        if isinstance(line, Scored):
            if rule.succeeds(key) if failed else add(key):
                yield line.place, line.record
        elif key not in rule.finished:
            rule.fails(key, line.reached, line.place)
            if on_failure and failures.add(hash(record_of(line.line)) & _MASK):
                on_failure(line.record)  # once, even if the journal has the same line twice
    yield from lines_at(path, kind, sorted(place for _, place in rule.failed.values()))


def about_how_many(path: Path) -> int:
    """How many lines a journal has if all are as long as the first."""
    with open_regular(path) as file:
        first = file.readline(MAX_LINE_BYTES)
        return os.fstat(file.fileno()).st_size // max(len(first), 100)


def lines_at(path: Path, kind: type[_T], places: Iterable[int]) -> Iterator[tuple[int, _T]]:
    """The lines that begin at these offsets, decoded. One that was damaged since it was found is refused."""
    decode = msgspec.json.Decoder(kind).decode
    with open_regular(path) as file:
        for place in places:
            line = _line_at(file.fileno(), place)
            if not is_intact(line):
                raise UsageError(f"{path}, byte {place}: was changed while it was being read. Rerun the same command.")
            yield place, decode(line)


def _line_at(file: int, place: int) -> bytes:
    """The line at an offset; a buffered reader would read a megabyte for it."""
    data = os.pread(file, LINE_BYTES, place)
    while (end := data.find(b"\n")) < 0 and (more := os.pread(file, len(data), place + len(data))):
        data += more
    return data if end < 0 else data[: end + 1]


def key_number(key: str) -> int:
    """An attempt's key as a 64-bit number. Keys that no run writes are hashed to one."""
    try:
        return int(key, 16) & _MASK
    except ValueError:
        return int(short_fingerprint(key), 16)


class AnyLine(msgspec.Struct):
    """A line of the journal of a run or of a search."""

    key: str
    failures: list[Any] = []


class AttemptOutcome(AnyLine):
    """Which attempt a line is about, and whether it failed: all that resume and merge need."""

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,16}$")]
    continued: bool = False


def refuse_damaged(path: Path) -> None:
    """Read the whole journal, for those who show what was computed from it earlier."""
    for _ in read_journal(path, AnyLine):
        pass


def _cut_torn_line(file: int, path: Path) -> int:
    """Cut off what follows the last newline, if it is the beginning of a record; return where the file now ends."""
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
        if not _is_torn(os.pread(file, len(_BEGINNING), position)):
            raise UsageError(
                f"{path}: ends in something that is not a journal line. It was not changed; is it the right file? "
                f"If it is, `assay repair {path.parent}` sets its damaged lines aside."
            )
        os.ftruncate(file, position)
    return position


def _count_lines(file: int, end: int, path: Path) -> int:
    """How many lines the journal has: the number of the last line."""
    number = number_of(os.pread(file, TAIL_BYTES, max(0, end - TAIL_BYTES)))
    if number is None and end:
        refuse_damaged(path)
    return number or 0
