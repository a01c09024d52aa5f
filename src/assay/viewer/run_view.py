"""One run as the viewer sees it: its index, kept up to date with the journal, and cached results."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.describe import Range
from assay.core.errors import UsageError
from assay.core.journal import Damaged, DamagedError, key_number, refuse_damaged
from assay.costs.prices import find_prices
from assay.results.marks import Mark, standing_marks
from assay.results.measure import Measure, measures_of
from assay.results.outcomes import EXCLUDED
from assay.results.query.evaluate import Mask, evaluate, texts_of
from assay.results.query.fields import Schema
from assay.results.query.syntax import Query, SearchText
from assay.run_file import RunFile, read_run_file
from assay.storage.checksum import is_intact
from assay.tasks.descriptions import described_values
from assay.viewer import word_index
from assay.viewer.boards import Boards
from assay.viewer.builders import LONG_BYTES, Builders
from assay.viewer.columns import IndexColumns, schema_of
from assay.viewer.derived import Stamp, remove, stamp_of
from assay.viewer.index import Snapshot, index_path, update_index
from assay.viewer.journal_lines import SearchLine, as_record, read_at
from assay.viewer.query import Filters, Other, Rows, base_order, field_of, sorted_rows
from assay.viewer.run_folders import is_being_written

KEPT = 16
PHRASE_ROWS = 5000
RECENT_SECONDS = 30.0
_T = TypeVar("_T")


class Kept:
    """The last few results, by what they depend on."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._answers: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any) -> Any:
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: Any, value: _T) -> _T:
        self._answers[key] = value
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)
        return value


class RunView:
    """Methods may block: they are called in threads, one at a time per run."""

    def __init__(self, name: str, folder: Path, builders: Builders, *, every_phrase: bool = False) -> None:
        self.name = name
        self._phrase_rows = None if every_phrase else PHRASE_ROWS
        self.folder = folder
        self.journal = folder / "journal.jsonl"
        self.lock = threading.RLock()
        self.boards = Boards(folder, builders)
        self.builders = builders
        self._run: RunFile | None = None
        self._run_stamp: tuple[int, int] | None = None
        self._snapshot: Snapshot | None = None
        self._checked: Stamp | None = None
        self._intact: Stamp | None = None
        self._kept = Kept()
        self._words_offset = 0
        self._readers = 0
        self._standing: Snapshot | None = None

    def run_file(self) -> RunFile:
        """`run.json`, read again when it changed; another version is refused with a sentence."""
        stamp = _stamp(self.folder / "run.json")
        if stamp == MISSING:
            raise UsageError(f"{self.name}: the run folder no longer exists")
        if self._run is None or stamp != self._run_stamp:
            self._run = read_run_file(self.folder)
            self._run_stamp, self._snapshot, self._checked = stamp, None, None
        return self._run

    @property
    def level(self) -> float:
        """The confidence level of the run's intervals."""
        return self.run_file().config.level

    def release(self) -> None:
        """Release the memory, unless a request is being answered."""
        if self.lock.acquire(blocking=False):
            try:
                self._snapshot, self._checked, self._kept = None, None, Kept()
            finally:
                self.lock.release()

    def journal_stamp(self) -> Stamp:
        return stamp_of(self.journal)

    def size(self) -> int:
        return self.journal_stamp().size

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Inside this context the run does not change: everything is read from one snapshot."""
        with self.lock:
            self._readers += 1
            try:
                yield
            finally:
                self._readers -= 1
                if not self._readers:
                    self._standing = None

    def snapshot(self) -> Snapshot:
        """The index as it was when the reading began; outside of one, as it is now."""
        if self._standing is not None:
            return self._standing
        latest = self.latest()
        if self._readers:
            self._standing = latest
        return latest

    def latest(self) -> Snapshot:
        """The index, updated to the end of the journal, or as far as a separate process has indexed it.

        A journal with a damaged line has no index to compute from: it is refused, as all its readers do.
        """
        run, stamp = self.run_file(), self.journal_stamp()
        size = stamp.size
        if self._snapshot is not None and stamp == self._checked:
            return self._snapshot
        if self._checked is not None and not stamp.may_follow(self._checked):
            self._snapshot, self._kept, self._words_offset = None, Kept(), 0  # another journal, or an edited one
        offset = 0 if self._snapshot is None else self._snapshot.offset
        if size - offset > LONG_BYTES or self.builders.busy("index", self.folder):
            return self._partial(run, stamp)
        self._checked = stamp
        update_index(self.folder, run.fingerprint, run.definitions, run.config.group_by)
        return self._look(run)

    def _partial(self, run: RunFile, stamp: Stamp) -> Snapshot:
        if not self.builders.busy("index", self.folder):
            at = update_index(self.folder, run.fingerprint, run.definitions, run.config.group_by, only_prepare=True)
            if stamp.size - at.offset > LONG_BYTES and not at.damage:
                self.builders.start("index", self.folder)
                self.builders.start("words", self.folder)
            else:
                self._checked = stamp
                update_index(self.folder, run.fingerprint, run.definitions, run.config.group_by)
        return self._look(run)

    def _look(self, run: RunFile) -> Snapshot:
        self._snapshot = Snapshot(index_path(self.folder), self.measures(run))
        return self._snapshot

    def measures(self, run: RunFile) -> dict[str, Measure]:
        """Of each task, on the scale in the latest leaderboard where nothing describes the values."""
        measures = measures_of(run.definitions)
        if all(each.on((0.0, 1.0)) is each for each in measures.values()):
            return measures
        try:
            board = self.boards.latest(run)[0] or {"tasks": []}
        except DamagedError:  # the requests for the leaderboard say so
            return measures
        ranges = {row["task"]: row["range"] and tuple(row["range"]) for row in board["tasks"]}
        return {name: each.on(ranges.get(name)) for name, each in measures.items()}

    def progress(self) -> dict[str, Any]:
        """How far the run is, and how far its index is."""
        run, snapshot, size = self.run_file(), self.snapshot(), self.size()
        outcomes = snapshot.column("outcome")[snapshot.counts]
        broken = (snapshot.column("failure")[snapshot.counts] >= 0) & (outcomes != EXCLUDED)
        total = sum(run.config.attempts_of(definition) for definition in run.definitions)
        done = len(outcomes)
        return {
            "total": total,
            "done": done,
            "failed": int(broken.sum()),
            "running": self.running(),
            "complete": done >= total,
            "indexed": 1.0 if not size else min(1.0, snapshot.offset / size),
            "version": f"{size}-{snapshot.rows}-{self._marks_stamp()}",
        }

    def running(self) -> bool:
        """Whether a process is writing the journal now."""
        written = is_being_written(self.journal)
        return time.time() - _stamp(self.journal)[1] / 1e9 < RECENT_SECONDS if written is None else written

    def stamp(self) -> tuple[int, ...]:
        """Changes whenever there may be something new to show."""
        files = ("run.json", "journal.jsonl", "leaderboard.json", "summary.json")
        sizes_and_times = [part for name in files for part in _stamp(self.folder / name)]
        return (self._marks_stamp(), *sizes_and_times, self.builders.busy("index", self.folder))

    def changed(self) -> float:
        """When the journal last grew, in seconds since the epoch."""
        return (_stamp(self.journal)[1] or _stamp(self.folder / "run.json")[1]) / 1e9

    def base(self) -> Rows:
        snapshot = self.snapshot()
        return self.remembered(("base", snapshot.rows), lambda: base_order(snapshot))

    def rows(self, filters: Filters, sort: str, descending: bool, others: list[RunView]) -> Rows:
        """The rows that match, in order; another page of the same query costs nothing."""
        against = tuple((other.name, other.snapshot().rows) for other in others)

        def chosen() -> Rows:
            mask = self.matching(filters.query(), filters.widened(self.schema()), others)
            every = self._sorted(sort, descending, others)
            return every[mask[every]]

        return self.remembered((self.state(), filters, sort, descending, against), chosen)

    def state(self) -> tuple[int, ...]:
        """Changes whenever a query may have another result."""
        return self.snapshot().rows, self._marks_stamp(), self._words_offset

    def matching(self, query: Query | None, schema: Schema, others: list[RunView]) -> Mask:
        """The rows that count and for which the query holds."""
        counts = self.snapshot().counts
        return counts.copy() if query is None else counts & evaluate(query, schema, self.columns(others))

    def schema(self) -> Schema:
        snapshot = self.snapshot()
        return self.remembered(("schema", snapshot.rows), lambda: schema_of(snapshot, self.name, self.model))

    @property
    def model(self) -> str:
        return str(self.run_file().model.get("name", ""))

    @property
    def model_label(self) -> str:
        return self.run_file().model_label

    def columns(self, others: list[RunView]) -> IndexColumns:
        """The rows as a query sees them, compared with other runs."""
        snapshot = self.snapshot()
        return IndexColumns(
            snapshot,
            run=self.name,
            model=self.model,
            quote=self.remembered(("quote",), lambda: [find_prices(run=self.folder).quote(self.model)])[0],
            marks={row: mark.verdict or "" for row, mark in self.marked_rows().items()},
            moved=[self.joined(other).worth - snapshot.column("worth") for other in others],
            search=self._holding,
        )

    def _holding(self, texts: Sequence[SearchText]) -> Mask:
        mask = np.zeros(self.snapshot().rows, bool)
        hits = self.search(word_index.search_text(texts))[0]
        mask[hits[hits < len(mask)]] = True
        return mask

    def _sorted(self, sort: str, descending: bool, others: list[RunView]) -> Rows:
        """Every row in this order: sorted once, whatever is filtered afterwards."""
        snapshot = self.snapshot()
        if sort == "order":
            return self.base()[:: -1 if descending else 1]
        if sort == "written":
            return np.arange(snapshot.rows, dtype=np.int32)[:: -1 if descending else 1]
        against = (others[0].name, others[0].snapshot().rows) if sort == "changed" and others else None
        return self.remembered(
            ("sorted", snapshot.rows, sort, descending, against),
            lambda: sorted_rows(self.sort_values(sort, others), descending, self.base()),
        )

    def sort_values(self, sort: str, others: list[RunView]) -> NDArray[np.float64]:
        """What the rows are sorted by: a field that holds numbers, or how much the score moved."""
        if sort == "changed":
            if not others:
                raise UsageError("sorting by how much the score moved needs another run to compare with (`against`)")
            moved: NDArray[np.float64] = self.joined(others[0]).worth - self.snapshot().column("worth")
            return moved
        return self.numbers(sort)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A field that holds numbers, by its name."""
        field = self.schema().find(field_of(name)) or self.schema().find(name)
        values = None if field is None else self.columns([]).numbers(field.name)
        if values is None:
            known = [each.name for each in self.schema().fields if each.kind in ("number", "any")]
            raise UsageError(f"there is no number `{name[:80]}` in this run; there are: {', '.join(known)}")
        return values

    def range_of(self, name: str) -> Range | None:
        """The range that the parts of the run describe for a number, the same in every task that has it."""
        definitions = self.run_file().definitions
        if name == "score":
            ranges = {self.snapshot().measure(definition.name).bounds for definition in definitions}
        else:
            scorer, _, value = field_of(name).rpartition(".")
            said = (described_values(definition.scorers, scorer).get(value) for definition in definitions)
            ranges = {found.range for found in said if found is not None}
        return ranges.pop() if len(ranges) == 1 else None

    def remembered(self, key: Any, make: Callable[[], _T]) -> _T:
        """The kept result for this key, or a new one."""
        kept: _T | None = self._kept.get(key)
        return kept if kept is not None else self._kept.put(key, make())

    def joined(self, other: RunView) -> Other:
        """The other run's score for each of our rows."""
        ours, theirs = self.snapshot(), other.snapshot()
        key = ("join", other.name, ours.rows, theirs.rows)
        return self.remembered(key, lambda: self._join_with(other, ours, theirs))

    def _join_with(self, other: RunView, ours: Snapshot, theirs: Snapshot) -> Other:
        row = _join(ours, self.base(), theirs, other.base())
        # the largest columns, needed only here
        ours.forget("pair")
        theirs.forget("pair")
        worth = np.full(ours.rows, np.nan)
        if theirs.rows:
            worth = theirs.column("worth")[row]
            # attempts with different targets do not compare
            worth[(row < 0) | (theirs.column("targets")[row] != ours.column("targets"))] = np.nan
        return Other(worth, row)

    def search_state(self, filters: Filters) -> dict[str, Any] | None:
        """How much of the run was searched for the words of these filters; None where there are none."""
        texts = list(texts_of(filters.query()))
        if not texts:
            return None
        queries = [word_index.search_text([text]) for text in texts]
        # only the search for a phrase can have stopped early
        whole = all(self.search(query)[2] for query in queries if word_index.phrases_of(query))
        return {"reach": self._update_words(), "whole": whole}

    def search(self, query: str) -> tuple[Rows, float, bool]:
        """Rows that hold the words; the share of the journal that search reaches; whether all phrases were checked."""
        reach = self._update_words()
        hits, whole = self.remembered(("search", query, self._words_offset), lambda: self._rows_with(query))
        return hits, reach, whole

    def _rows_with(self, query: str) -> tuple[Rows, bool]:
        hits: Rows = word_index.search(word_index.words_path(self.folder), query)
        phrases = word_index.phrases_of(query)
        if not phrases:
            return hits, True
        whole = self._phrase_rows is None or len(hits) <= self._phrase_rows
        return self._with_phrases(hits[: self._phrase_rows], phrases), whole

    def _update_words(self) -> float:
        run, size = self.run_file(), self.size()
        if self._words_offset == size and size:
            return 1.0
        busy = self.builders.busy("words", self.folder)
        try:
            at = word_index.update_words(self.folder, run.fingerprint, only_prepare=True)
            if not busy and size - at.offset > LONG_BYTES:
                self.builders.start("words", self.folder)
            elif not busy:
                at = word_index.update_words(self.folder, run.fingerprint)
        except sqlite3.DatabaseError:
            remove(word_index.words_path(self.folder))
            at = word_index.update_words(self.folder, run.fingerprint, only_prepare=True)
        self._words_offset = at.offset
        return min(1.0, at.offset / size) if size else 1.0

    def _with_phrases(self, hits: Rows, phrases: list[str]) -> Rows:
        snapshot, decode = self.snapshot(), msgspec.json.Decoder(SearchLine).decode
        wanted = [" ".join(phrase.casefold().split()) for phrase in phrases]
        kept = []
        for row in hits[hits < snapshot.rows].tolist():
            text = " ".join(word_index.text_of(decode(self.line(row))).casefold().split())
            if all(phrase in text for phrase in wanted):
                kept.append(row)
        return np.array(kept, np.int64)

    def latest_board(self) -> tuple[dict[str, Any] | None, bool]:
        """The newest leaderboard, and whether the journal has moved on since. A finished one says nothing about what
        happened to the journal afterwards, so that is looked at.
        """
        board, moved_on = self.boards.latest(self.run_file())
        if board is not None and not moved_on and board["complete"]:
            self.refuse_damaged()
        return board, moved_on

    def refuse_damaged(self) -> None:
        """Refuse a journal with a damaged line, without indexing it."""
        stamp = self.journal_stamp()
        if stamp != self._intact and stamp.size:
            refuse_damaged(self.journal)
        self._intact = stamp

    def line(self, row: int) -> bytes:
        """The line of a row, which may have been damaged since it was indexed."""
        snapshot = self.snapshot()
        place, size = int(snapshot.column("offset")[row]), int(snapshot.column("length")[row]) + 1
        line = read_at(self.journal, place, size)
        if not is_intact(line):
            Damaged(self.journal, row + 1, place, size, "edited", "was changed after it was written").refuse()
        return line[:-1]

    def record(self, row: int) -> dict[str, Any]:
        return as_record(self.line(row))

    def row_of(self, key: str) -> int:
        """The row that counts for an attempt."""
        rows = self.rows_of(key)
        if not rows:
            raise UsageError(f"{self.name}: there is no sample with the key `{key[:40]}`")
        return rows[-1]

    def rows_of(self, key: str) -> list[int]:
        """Every line of an attempt, the one that counts last."""
        snapshot = self.snapshot()
        rows: list[int] = np.flatnonzero(snapshot.column("key") == np.uint64(key_number(key))).tolist()
        return rows

    def marks(self) -> dict[str, Mark]:
        """The last mark of every marked attempt."""
        return {mark.key: mark for mark in self.all_marks()}

    def all_marks(self) -> list[Mark]:
        return self.remembered(("marks", self._marks_stamp()), lambda: standing_marks(self.folder))

    def marked_rows(self) -> dict[int, Mark]:
        """Marks by row, for those whose attempt is in the journal."""
        marks = self.marks()
        if not marks:
            return {}
        by_number = {key_number(key): mark for key, mark in marks.items()}
        keys = self.snapshot().column("key")
        wanted = np.isin(keys, np.array(list(by_number), np.uint64)) & self.snapshot().counts
        return {row: by_number[int(keys[row])] for row in np.flatnonzero(wanted).tolist()}

    def _marks_stamp(self) -> int:
        size, changed = _stamp(self.folder / "marks.jsonl")
        return changed ^ size


MISSING = (0, 0)


def _stamp(path: Path) -> tuple[int, int]:
    """The size of a file and when it changed, in nanoseconds; zeros where there is none."""
    try:
        stat = path.stat()
    except OSError:
        return MISSING
    return stat.st_size, stat.st_mtime_ns


def _join(ours: Snapshot, our_base: Rows, theirs: Snapshot, their_base: Rows) -> Rows:
    """For each of our rows the row of the same sample and attempt in the other run, or −1."""
    result: Rows = np.full(ours.rows, -1, np.int32)
    mine = our_base if ours.counts.all() else our_base[ours.counts[our_base]]
    its = their_base if theirs.counts.all() else their_base[theirs.counts[their_base]]
    left, right = ours.column("pair")[mine], theirs.column("pair")[its]
    if len(left) == len(right) and (left == right).all():
        # finished runs of the same tasks are in the same order
        result[mine] = its
        return result
    order = np.argsort(right)
    if len(order):
        at = np.minimum(np.searchsorted(right, left, sorter=order), len(order) - 1)
        same = right[order[at]] == left
        result[mine[same]] = its[order[at[same]]]
    return result
