"""A run cut into shards: contiguous ranges of its samples, one journal file per attempt at a shard, merged into one.

A shard is named by the samples it covers, counted through all tasks of the run, so that a range means the same
whatever the number of shards. Each worker on a shard writes to a file of its own in `shards/`, because a worker
that was given up may still be alive and writing. Merging takes the line of every attempt that counts, by the rule that
all readers of journals go by; a torn last line is an attempt that remains.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import UsageError
from assay.core.journal import AttemptOutcome, Counting, Failed, Journal, Scored, read_journal
from assay.core.types import TaskDefinition
from assay.run_config import RunConfig
from assay.storage.checksum import record_of
from assay.storage.key_set import KeySet

FOLDER = "shards"

_NAME = re.compile(r"samples-(\d+)-(\d+)\.[0-9a-f]+-[0-9a-f]+\.jsonl")


class Shard(NamedTuple):
    """Samples `start` up to, not including, `stop`, counted through all tasks of the run."""

    start: int
    stop: int

    def overlaps(self, other: Shard) -> bool:
        return self.start < other.stop and other.start < self.stop


def parse_shard(text: str) -> tuple[int, int]:
    """`2/8` -> the second of eight."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text!r}: expected K/N with K from 1 to N, such as 2/8 for the second of eight")
    return int(match[1]), int(match[2])


def shard_of(samples: int, number: int, count: int) -> Shard:
    """Shard `number` (from 1) of `count` that are as equal as can be."""
    return Shard(samples * (number - 1) // count, samples * number // count)


def cut(samples: int, size: int) -> list[Shard]:
    """All samples in shards of about equal size, none larger than `size`."""
    count = max(1, -(-samples // size))
    return [shard_of(samples, number, count) for number in range(1, count + 1)]


def positions_of(shard: Shard, definitions: Sequence[TaskDefinition], config: RunConfig) -> dict[str, range]:
    """The positions inside each task that a shard covers."""
    positions: dict[str, range] = {}
    begin = 0
    for definition in definitions:
        size = config.samples_of(definition)
        start, stop = max(shard.start - begin, 0), min(shard.stop - begin, size)
        if start < stop:
            positions[definition.name] = range(start, stop)
        begin += size
    return positions


def new_file(folder: Path, shard: Shard) -> Path:
    """Where a new attempt at a shard writes; names sort by the time they were made."""
    name = f"samples-{shard.start:012}-{shard.stop:012}.{time.time_ns():016x}-{os.urandom(4).hex()}.jsonl"
    return folder / FOLDER / name


def shard_files(folder: Path) -> list[tuple[Shard, Path]]:
    """Every attempt at a shard, by range and then by age. Files of other names are not ours and are left alone."""
    try:
        names = sorted(os.listdir(folder / FOLDER))
    except FileNotFoundError:
        return []
    matches = [(_NAME.fullmatch(name), folder / FOLDER / name) for name in names]
    return [(Shard(int(name[1]), int(name[2])), path) for name, path in matches if name is not None]


def holds_attempts(folder: Path, shard: Shard | None = None) -> bool:
    """Whether a run folder holds anything that a run would not make again: in its journal, or in files of the shard."""
    journal = folder / "journal.jsonl"
    if journal.is_file() and journal.stat().st_size > 0:
        return True
    if not folder.is_dir():
        return False  # the writer reports what is in the way
    return any(shard is None or other.overlaps(shard) for other, _ in shard_files(folder))


def _lines(path: Path) -> Iterator[Scored[AttemptOutcome] | Failed[AttemptOutcome]]:
    try:
        yield from read_journal(path, AttemptOutcome)
    except FileNotFoundError:
        return  # the file of an attempt that wrote nothing was removed since the folder was listed


class Merged(NamedTuple):
    """What a merge did."""

    files: tuple[Path, ...]
    added: int
    """Finished attempts that the journal did not have yet."""
    repeated: int
    """Finished attempts found more than once; one of each counts."""
    failed: int
    """Failed attempts added; none of them is finished so far."""


def merge_shards(folder: Path, journal: Journal) -> Merged:
    """Take every finished attempt of the shard files into the journal, once. Merging again adds nothing."""
    files = shard_files(folder)
    if not files:
        return Merged((), 0, 0, 0)
    known, known_failures = _outcomes(journal.path)
    added = repeated = failed = 0
    for group in _overlapping(files):
        # ranges that do not overlap share no attempt, so only one group's keys are held at a time
        merge = _Merge(known, known_failures)
        journal.copy(merge.lines(group))
        added, repeated, failed = added + merge.added, repeated + merge.repeated, failed + merge.failed
    return Merged(tuple(path for _, path in files), added, repeated, failed)


def remove_files(merged: Merged) -> None:
    """Drop the shard files whose every record is in the journal."""
    for path in merged.files:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in merged.files}:
        try:
            folder.rmdir()
        except OSError:
            pass  # another worker has started on a shard meanwhile


class _Merge:
    """The lines of one group of shard files that the journal lacks."""

    def __init__(self, known: KeySet, known_failures: KeySet) -> None:
        self._known = known
        self._known_failures = known_failures
        self.added = self.repeated = self.failed = 0

    def lines(self, paths: Iterable[Path]) -> Iterator[bytes]:
        rule = Counting()
        failures: dict[int, list[Failed[AttemptOutcome]]] = {}
        """Of each attempt that only failed so far, in the order of writing."""
        for line in (line for path in paths for line in _lines(path)):
            key = int(line.record.key, 16)
            if key in self._known:
                continue
            if isinstance(line, Failed):
                made = failures.setdefault(key, [])
                if rule.counts(key, line.reached, len(made)):
                    made.append(line)
            elif rule.counts(key, None, 0):
                yield from self._continued_by(line.record, failures.pop(key, []))
                self.added += 1
                yield line.line
            else:
                self.repeated += 1
        for key, (_, place) in rule.failed.items():
            counting = failures[key][place]
            earlier = [*self._continued_by(counting.record, failures[key][:place])]
            if self._known_failures.add(_digest(counting.line)):
                self.failed += 1
                yield from (*earlier, counting.line)

    def _continued_by(self, record: AttemptOutcome, failures: Iterable[Failed[AttemptOutcome]]) -> Iterator[bytes]:
        """The lines that a line continues: what their answers cost is written there."""
        if record.continued:
            yield from (failure.line for failure in failures if self._known_failures.add(_digest(failure.line)))


def _outcomes(path: Path) -> tuple[KeySet, KeySet]:
    """The finished keys of a journal, and the digests of its failures."""
    finished, failures = KeySet(), KeySet()
    for line in read_journal(path, AttemptOutcome):
        if isinstance(line, Failed):
            failures.add(_digest(line.line))
        else:
            finished.add(int(line.record.key, 16))
    return finished, failures


def _overlapping(files: Sequence[tuple[Shard, Path]]) -> Iterator[list[Path]]:
    """Files whose ranges overlap, together; given and answered in the order of their ranges."""
    group: list[Path] = []
    end = 0
    for shard, path in files:
        if group and shard.start >= end:
            yield group
            group = []
        group.append(path)
        end = max(end, shard.stop)
    if group:
        yield group


def _digest(line: bytes) -> int:
    return int.from_bytes(blake2b(record_of(line), digest_size=8).digest(), "big")
