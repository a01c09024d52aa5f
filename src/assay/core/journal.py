"""The journal: append-only JSONL, one `Record` per line, the run's only source of truth.

A record is handed to the kernel with `os.write` before the next batch is taken, so a killed process loses nothing
that had finished; `fdatasync` runs in a thread every 250 ms, so a power cut loses no more than that. A torn last
line is an attempt that remains: readers skip it, and opening the journal for writing cuts it off. Every line ends
with its number and a checksum (`checksum.py`); readers refuse a line that was changed.

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
from typing import Annotated, Any, Protocol, TypeVar
from zlib import crc32

import msgspec

from assay.core.attempt import writable
from assay.core.checksum import TAIL_BYTES, is_unchanged, number_of, record_of, tail_bytes, with_checksums
from assay.core.errors import UsageError
from assay.core.fingerprint import short_fingerprint
from assay.core.regular_file import open_regular, open_to_append
from assay.core.types import Failure, Record
from assay.key_set import KeySet

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
_L = TypeVar("_L", bound="KeyedLine")


class Journal:
    """The writing end. One process at a time: a second one is refused while the first lives."""

    def __init__(self, path: Path, *, own_parts: bool = False) -> None:
        """`own_parts`: third-party code makes the records, so each is read back before it is written."""
        self.path = path
        self._own_parts = own_parts
        self._file = lock_journal(path)
        try:
            self._end = _cut_torn_line(self._file, path)
            self._lines = _count_lines(self._file, self._end)
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


def read_records(path: Path) -> Iterator[Record]:
    """Every record in the order of writing, repeated attempts included."""
    return (record for _, record in read_journal(path, Record))


def read_journal(path: Path, kind: type[_T]) -> Iterator[tuple[bytes, _T]]:
    """Every whole line: its bytes, and the line decoded as `kind`, which may have only the fields that are needed.

    A line that was changed after it was written is refused. Lines are expected in the order of their numbers: checking
    that takes a fraction of the time that parsing each number would.
    """
    decode = msgspec.json.Decoder(kind).decode
    at, expected, tail, more = 0, 1, tail_bytes(1), 10
    with open_regular(path) as file:
        for line in iter(partial(file.readline, MAX_LINE_BYTES + 1), b""):
            at += 1
            if line[-11:] == b'%08x"}\n' % crc32(line[:-tail], expected):
                expected += 1
                if expected == more:
                    tail, more = tail + 1, more * 10
            elif line[-1] != _NEWLINE and len(line) <= MAX_LINE_BYTES:
                return  # torn
            else:
                number = _unexpected(line, path, at)
                expected = expected + 1 if number is None else number + 1
                tail, more = tail_bytes(expected), 10 ** len(str(expected))
            try:
                decoded = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise UsageError(
                    f"{path}, line {at}: not a journal record ({error}). Delete this line to have its attempt retried."
                ) from error
            yield line, decoded


def _unexpected(line: bytes, path: Path, at: int) -> int | None:
    """The number of a line that is out of order; None for a line without one. A changed line is refused."""
    if line[-1] != _NEWLINE:
        raise UsageError(f"{path}, line {at}: has more than {MAX_LINE_BYTES >> 20:,} MB, which no run writes")
    if not is_unchanged(line):
        raise UsageError(
            f"{path}, line {at}: was changed after it was written: its checksum does not match. Delete this "
            f"line to have its attempt retried. `assay verify {path.parent}` names every such line."
        )
    return number_of(line)


class KeyedLine(Protocol):
    """The fields that `Counting` needs of a line."""

    @property
    def key(self) -> str: ...

    @property
    def failures(self) -> Sequence[Any]: ...


class Keys(Protocol):
    """Keys of finished attempts."""

    def add(self, key: int, /) -> bool: ...

    def __contains__(self, key: object, /) -> bool: ...


class Counting:
    """Which line of an attempt counts: the first that succeeded; where none did, the last that failed.

    The order of successes and failures does not matter, nor does a line that occurs twice.
    """

    def __init__(self, finished: Keys | None = None, failed: dict[int, int] | None = None) -> None:
        self.finished: Keys = KeySet() if finished is None else finished
        self.failed: dict[int, int] = {} if failed is None else failed
        """The attempts that only failed so far, each with the place of the line that counts."""

    def succeeds(self, key: int) -> bool:
        """Whether the line of a success counts; failures of the attempt then do not."""
        if self.failed:
            self.failed.pop(key, None)
        return self.finished.add(key)

    def fails(self, key: int, place: int) -> bool:
        """Whether the line of a failure counts so far; earlier failures of the attempt then do not."""
        if key in self.finished:
            return False
        self.failed[key] = place
        return True

    def counts(self, key: int, failed: bool, place: int) -> bool:
        """Whether a line counts as far as is known by now."""
        return self.fails(key, place) if failed else self.succeeds(key)


def counting_lines(
    path: Path, kind: type[_L], on_failure: Callable[[_L], object] | None = None
) -> Iterator[tuple[int, _L]]:
    """The offset and the decoded line that counts, for each attempt; nothing where there is no journal.

    Attempts that succeeded come in the order of the file, then those that only failed. `on_failure` is called once with
    every failure before a success, even if it does not count in the end: it has cost something too.
    """
    if not path.exists():
        return
    rule, failures, place = Counting(KeySet(_about_how_many(path))), KeySet(), 0
    add, failed = rule.finished.add, rule.failed
    for line, decoded in read_journal(path, kind):
        key = hash(decoded.key) & _MASK  # valid in this process only, and faster than the key's own number
        if not decoded.failures:
            if rule.succeeds(key) if failed else add(key):
                yield place, decoded
        elif rule.fails(key, place) and failures.add(hash(record_of(line)) & _MASK) and on_failure:
            on_failure(decoded)  # once, even if the journal has the same line twice
        place += len(line)
    yield from lines_at(path, kind, sorted(rule.failed.values()))


def _about_how_many(path: Path) -> int:
    """How many lines a journal has if all are as long as the first."""
    with open_regular(path) as file:
        first = file.readline(MAX_LINE_BYTES)
        return os.fstat(file.fileno()).st_size // max(len(first), 100)


def lines_at(path: Path, kind: type[_T], places: Iterable[int]) -> Iterator[tuple[int, _T]]:
    """The lines that begin at these offsets, decoded."""
    decode = msgspec.json.Decoder(kind).decode
    with open_regular(path) as file:
        for place in places:
            yield place, decode(_line_at(file.fileno(), place))


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


class AttemptOutcome(msgspec.Struct):
    """Which attempt a line is about, and whether it failed: all that resume and merge need."""

    key: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,16}$")]
    failures: list[Any] = []


def finished_keys(path: Path) -> KeySet:
    """The keys of the attempts that succeeded."""
    if not path.exists():
        return KeySet()
    finished = KeySet(_about_how_many(path))
    for _, line in read_journal(path, AttemptOutcome):
        if not line.failures:
            finished.add(int(line.key, 16))
    return finished


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
        torn = os.pread(file, len(_BEGINNING), position)
        if not _BEGINNING.startswith(torn) and torn.strip(b"\0"):  # a power cut may leave zeros
            raise UsageError(
                f"{path}: ends in something that is not a journal line. It was not changed; is it the right file?"
            )
        os.ftruncate(file, position)
    return position


def _count_lines(file: int, end: int) -> int:
    """How many lines the journal has: the number of the last line, unless an older version wrote it."""
    last = os.pread(file, TAIL_BYTES, max(0, end - TAIL_BYTES))
    number = number_of(last)
    if number is not None:
        return number
    places = range(0, end, COPY_BYTES)
    return sum(os.pread(file, min(COPY_BYTES, end - place), place).count(b"\n") for place in places)
