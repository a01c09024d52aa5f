"""What earlier sessions of a run made: attempts that are finished, and attempts with an answer that lack a score.

The latter are continued, not repeated: their answer is scored by the scorers that gave no score.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from assay.core.journal import AttemptOutcome, Counting, Failed, about_how_many, lines_at, read_journal
from assay.core.types import Record
from assay.run_file import RunFile
from assay.storage.key_set import KeySet
from assay.storage.reached import Reached


def attempts_in(run_file: RunFile) -> int:
    """How many attempts a run has in all."""
    return sum(map(run_file.config.attempts_of, run_file.definitions))


class MadeEarlier(Protocol):
    """The keys of finished attempts, and the records of those that lack only scores."""

    def __contains__(self, key: object, /) -> bool: ...

    def record(self, key: int, /) -> Record | None: ...


class EarlierAttempts:
    """The attempts in some journals of a run, those that are not there yet included."""

    def __init__(self, *journals: Path) -> None:
        there = [path for path in journals if path.exists()]
        self.finished = KeySet(sum(map(about_how_many, there)))
        self._rule = Counting(self.finished)
        self._journals: list[Path] = []
        for path in there:
            self._read(path)

    def _read(self, path: Path) -> None:
        number = len(self._journals)
        self._journals.append(path)
        try:
            for line in read_journal(path, AttemptOutcome):
                key = int(line.record.key, 16)
                self._rule.counts(key, line.reached if isinstance(line, Failed) else None, line.place << 32 | number)
        except FileNotFoundError:
            return  # the file of a shard on which nothing was made was removed since the folder was listed

    def __contains__(self, key: object) -> bool:
        return key in self.finished

    def __len__(self) -> int:
        return len(self.finished)

    def __bool__(self) -> bool:
        return bool(len(self.finished) or self._rule.failed)

    def __iter__(self) -> Iterator[int]:
        return iter(self.finished)

    def has_line(self, key: int) -> bool:
        """Whether the attempt was made, even if it failed."""
        return key in self.finished or key in self._rule.failed

    def reached(self, key: int) -> Reached:
        """How far an unfinished attempt got; one that was not made got nowhere."""
        return self._rule.failed[key][0] if key in self._rule.failed else (0, 0.0)

    def record(self, key: int) -> Record | None:
        """The record of an attempt that has an answer and lacks scores; None for every other one."""
        if not self.reached(key)[0]:
            return None
        place = self._rule.failed[key][1]
        [(_, record)] = lines_at(self._journals[place & 0xFFFF_FFFF], Record, [place >> 32])
        return record if all(failure.scorer or failure.stage == "action" for failure in record.failures) else None


class InEither:
    """The attempts of two sets of journals that were read at different times."""

    def __init__(self, *parts: EarlierAttempts) -> None:
        self._parts = parts

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts)

    def record(self, key: int) -> Record | None:
        return max(self._parts, key=lambda part: part.reached(key)).record(key)
