"""The index of one run: columns in a SQLite file in its folder, extended from the journal by byte offset.

Columns are kept as packed chunks of rows rather than one SQLite row per sample: a million samples load in
milliseconds, and every filter and sort is arithmetic on arrays. Row numbers are line numbers of the journal. Indexing
stops at a damaged line, and such an index has no numbers: a `Snapshot` of it is refused as the journal's readers do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.journal import Counting, Damaged, DamagedError, read_lines
from assay.core.types import TaskDefinition
from assay.results.measure import Measure, measures_of
from assay.results.outcomes import UNSCORED, judged
from assay.results.report_settings import GROUP
from assay.storage.key_set import KeySet
from assay.storage.reached import reached_by
from assay.viewer.derived import ReadSoFar, derived_path, open_to_read, open_to_write, progress_in, set_progress
from assay.viewer.journal_lines import IndexLine, as_record
from assay.viewer.packed_texts import PackedTexts
from assay.viewer.previews import LONG_LINE, preview_of
from assay.viewer.rows import PLAIN, USUAL, Filler, Names
from assay.viewer.shared import SharedBeginnings

FILE_NAME = ".viewer.sqlite"
CHUNK_ROWS = 16384
COMMIT_ROWS = 4 * CHUNK_ROWS

_TABLES = """
CREATE TABLE chunks(name TEXT, first INTEGER, rows INTEGER, data BLOB, PRIMARY KEY (name, first));
CREATE TABLE texts(name TEXT, first INTEGER, lengths BLOB, data BLOB, PRIMARY KEY (name, first));
CREATE TABLE names(kind TEXT, code INTEGER, text TEXT, PRIMARY KEY (kind, code)) WITHOUT ROWID;
CREATE TABLE labels(name TEXT, hash BLOB, text TEXT, PRIMARY KEY (name, hash)) WITHOUT ROWID;
CREATE TABLE superseded(row INTEGER PRIMARY KEY);
CREATE TABLE shared(task TEXT PRIMARY KEY, text TEXT) WITHOUT ROWID;
CREATE TABLE previews(row INTEGER PRIMARY KEY, data BLOB);
"""


def index_path(folder: Path) -> Path:
    return derived_path(folder, FILE_NAME)


def update_index(
    folder: Path,
    fingerprint: str,
    definitions: tuple[TaskDefinition, ...],
    group_by: str | None = None,
    *,
    only_prepare: bool = False,
) -> ReadSoFar:
    """Index the new lines of the journal, and return how far the index reaches."""
    journal = folder / "journal.jsonl"
    group_by = group_by or GROUP
    # an index by other clusters is another index
    of = fingerprint if group_by == GROUP else f"{fingerprint} by {group_by}"
    with open_to_write(index_path(folder), journal, of, _TABLES) as connection:
        if journal.exists() and not only_prepare and not progress_in(connection).damage:
            _index_lines(connection, journal, measures_of(definitions), group_by)
        return progress_in(connection)


def _index_lines(connection: sqlite3.Connection, journal: Path, measures: dict[str, Measure], group_by: str) -> None:
    """Each round indexes some lines and commits them; several viewers may take turns with one file."""
    rule, known_rows = Counting(), 0
    while True:
        with connection:  # commits, or rolls back what failed
            connection.execute("BEGIN IMMEDIATE")
            start = progress_in(connection)
            if start.rows != known_rows:
                rule = _rule_so_far(connection)
            writer = _Writer(connection, measures, start, rule, group_by)
            damage = _add_lines(writer, journal, start)
            if damage or writer.rows > start.rows:
                writer.finish()
                set_progress(connection, journal, ReadSoFar(offset=writer.offset, rows=writer.rows, damage=damage))
        known_rows = writer.rows
        if damage or writer.rows - start.rows < COMMIT_ROWS:
            return


def _add_lines(writer: _Writer, journal: Path, start: ReadSoFar) -> str | None:
    """Some lines; returns why the next one is refused, if it is damaged."""
    for line in read_lines(journal, IndexLine, place=start.offset, lines=start.rows):
        if isinstance(line, Damaged):
            return str(line.error())
        writer.add(line.record, line.place, line.line[:-1])
        if writer.rows - start.rows >= COMMIT_ROWS:
            break
    return None


class _Writer:
    """Fills chunks and writes them; the last, unfinished chunk is written too, and replaced as it grows."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        measures: dict[str, Measure],
        start: ReadSoFar,
        rule: Counting,
        group_by: str,
    ) -> None:
        self._connection = connection
        self._names = {kind: Names(_names(connection, kind)) for kind in ("task", "failure")}
        self._labels = _labels(connection)
        self._filler = Filler(self._names["task"], self._names["failure"], measures, self._labels, group_by)
        self._first = start.rows - start.rows % CHUNK_ROWS
        self._old = _chunk(connection, self._first) if start.rows > self._first else {}
        self._old_texts = _chunk_texts(connection, self._first) if start.rows > self._first else {}
        self._held = start.rows - self._first
        self._rule = rule
        self._shared = SharedBeginnings(_shared(connection))
        self.rows = start.rows
        self.offset = start.offset

    def add(self, line: IndexLine, offset: int, data: bytes) -> None:
        """Add one row."""
        filler = self._filler
        key, failed = filler.add(line, offset, len(data))
        if line.trace is not None:
            self._shared.add(line.task, line.trace)
        _, earlier = self._rule.failed.get(key, (None, None))
        reached = reached_by(line) if failed else None
        superseded = earlier if self._rule.counts(key, reached, self.rows) else self.rows
        if superseded is not None:
            self._connection.execute("INSERT OR IGNORE INTO superseded VALUES (?)", (superseded,))
        if len(data) > LONG_LINE:
            self._connection.execute(
                "INSERT OR REPLACE INTO previews VALUES (?, ?)",
                (self.rows, msgspec.json.encode(preview_of(as_record(data), self._shared.texts))),
            )
        self.rows += 1
        self.offset = offset + len(data) + 1
        if self._held + filler.rows == CHUNK_ROWS:
            self._write()
            self._first += CHUNK_ROWS
            self._old, self._old_texts, self._held = {}, {}, 0
            filler.begin()

    def finish(self) -> None:
        if self._filler.rows:
            self._write()
        for kind, names in self._names.items():
            self._connection.executemany(
                "INSERT OR IGNORE INTO names VALUES (?, ?, ?)",
                ((kind, code, text) for code, text in enumerate(names.texts)),
            )
        self._connection.executemany("INSERT OR REPLACE INTO shared VALUES (?, ?)", self._shared.texts.items())
        self._connection.executemany(
            "INSERT OR IGNORE INTO labels VALUES (?, ?, ?)",
            ((name, h.to_bytes(8, "big"), text) for name, known in self._labels.items() for h, text in known.items()),
        )

    def _write(self) -> None:
        new = self._filler.packed()
        for name in {*self._old, *new}:
            data = _joined(self._old.get(name), new.get(name), self._held, self._filler.rows)
            self._connection.execute(
                "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?)", (name, self._first, len(data), data.tobytes())
            )
        for name, texts in self._filler.packed_texts().items():
            whole = PackedTexts.joined([self._earlier_texts(name), texts])
            self._connection.execute(
                "INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)",
                (name, self._first, whole.lengths.tobytes(), whole.data.tobytes()),
            )

    def _earlier_texts(self, name: str) -> PackedTexts:
        """The texts of the rows that the chunk had before; where none were kept, they are looked up by their hashes."""
        if name in self._old_texts:
            return self._old_texts[name]
        known = self._labels.get(name, {})
        hashes = self._old[name].tolist() if name in self._old else [0] * self._held
        return PackedTexts.of([known.get(digest, "") for digest in hashes])


def _joined(old: NDArray[Any] | None, new: NDArray[Any] | None, held: int, added: int) -> NDArray[Any]:
    """A column that is missing on one side has no value there."""
    if old is None and held and new is not None:
        old = _nothing(new.dtype, held)
    if new is None and old is not None:
        new = _nothing(old.dtype, added)
    parts = [part for part in (old, new) if part is not None]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _nothing(dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    return np.full(rows, np.nan) if dtype.kind == "f" else np.zeros(rows, dtype)


def dtype_of(name: str) -> np.dtype[Any]:
    code = PLAIN.get(name) or ("d" if name.startswith(("value:", "num:")) else "Q")
    return np.dtype(code)


def _chunk(connection: sqlite3.Connection, first: int) -> dict[str, NDArray[Any]]:
    rows = connection.execute("SELECT name, data FROM chunks WHERE first = ?", (first,)).fetchall()
    return {name: np.frombuffer(data, dtype_of(name)) for name, data in rows}


def _chunk_texts(connection: sqlite3.Connection, first: int) -> dict[str, PackedTexts]:
    rows = connection.execute("SELECT name, lengths, data FROM texts WHERE first = ?", (first,)).fetchall()
    return {name: PackedTexts.from_bytes(lengths, data) for name, lengths, data in rows}


def load_texts(connection: sqlite3.Connection, name: str, rows: int) -> PackedTexts:
    """A whole column of texts; rows of chunks that lack it have an empty one."""
    parts, held = [], 0
    query = "SELECT first, lengths, data FROM texts WHERE name = ? ORDER BY first"
    for first, lengths, data in connection.execute(query, (name,)):
        part = PackedTexts.from_bytes(lengths, data)
        parts += [PackedTexts.empty(first - held), part]
        held = first + len(part.lengths)
    return PackedTexts.joined([*parts, PackedTexts.empty(max(0, rows - held))]).first(rows)


def _names(connection: sqlite3.Connection, kind: str) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM names WHERE kind = ? ORDER BY code", (kind,))]


def _labels(connection: sqlite3.Connection) -> dict[str, dict[int, str]]:
    labels: dict[str, dict[int, str]] = {}
    for name, label, text in connection.execute("SELECT name, hash, text FROM labels"):
        labels.setdefault(name, {})[int.from_bytes(label, "big")] = text
    return labels


def _shared(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT task, text FROM shared").fetchall())


def _rule_so_far(connection: sqlite3.Connection) -> Counting:
    """Which lines count, as far as the index reaches."""
    keys, failed = load_column(connection, "key"), load_column(connection, "failure") >= 0
    finished = _Finished(keys[~failed])
    superseded = {row for (row,) in connection.execute("SELECT row FROM superseded")}
    rows = [row for row in np.flatnonzero(failed).tolist() if row not in superseded]
    reached, ended = load_column(connection, "reached"), load_column(connection, "finished")
    return Counting(finished, {int(keys[row]): ((int(reached[row]), float(ended[row])), row) for row in rows})


class _Finished:
    """Keys of finished attempts: those of the index, sorted, and new ones."""

    def __init__(self, keys: NDArray[Any]) -> None:
        self._known = np.sort(keys)
        self._new = KeySet()

    def __contains__(self, key: object) -> bool:
        return key in self._new or self._is_known(key)

    def add(self, key: int, /) -> bool:
        return not self._is_known(key) and self._new.add(key)

    def _is_known(self, key: Any) -> bool:
        at = int(np.searchsorted(self._known, np.uint64(key)))
        return at < len(self._known) and int(self._known[at]) == key


def load_column(connection: sqlite3.Connection, name: str) -> NDArray[Any]:
    """A whole column; rows of chunks that lack it have no value."""
    dtype, total = dtype_of(name), progress_in(connection).rows
    column = np.empty(total, dtype) if name in PLAIN else _nothing(dtype, total)
    for first, data in connection.execute("SELECT first, data FROM chunks WHERE name = ?", (name,)):
        part = np.frombuffer(data, dtype)
        column[first : first + len(part)] = part
    return column


DERIVED = ("outcome", "share", "worth", "attempts", "mixed")
"""Columns computed from others: the outcome of an attempt; its share of full marks, where its task has right and wrong;
its score, negated where lower is better; how many attempts its sample has; whether their scores differ.
"""


class Snapshot:
    """The index as it is now, read-only; columns are loaded on first use."""

    def __init__(self, path: Path, measures: Mapping[str, Measure] | None = None) -> None:
        self._path = path
        self._measures = measures or {}
        self._columns: dict[str, NDArray[Any]] = {}
        self._texts: dict[str, PackedTexts] = {}
        with open_to_read(path) as connection:
            connection.execute("BEGIN")
            at = progress_in(connection)
            if at.damage is not None:
                raise DamagedError(at.damage)
            self.rows, self.offset = at.rows, at.offset
            self.tasks = _names(connection, "task")
            self.failures = _names(connection, "failure")
            self.labels = _labels(connection)
            self.shared = _shared(connection)
            self.names = sorted({name for (name,) in connection.execute("SELECT DISTINCT name FROM chunks")} - {*PLAIN})
            superseded = np.fromiter((row for (row,) in connection.execute("SELECT row FROM superseded")), np.int64)
        self.counts = np.ones(self.rows, bool)
        """False for lines that are superseded by another line of the same attempt."""
        self.counts[superseded] = False

    def column(self, name: str) -> NDArray[Any]:
        """The column's rows up to this snapshot, however far the file has grown since."""
        column = self._columns.get(name)
        if column is None:
            column = self._derived(name) if name in DERIVED else self._loaded(name)
            if len(self._columns) > 40:
                self._columns.clear()  # a bound on memory; columns are loaded again in milliseconds
            self._columns[name] = column
        return column

    def _loaded(self, name: str) -> NDArray[Any]:
        with open_to_read(self._path) as connection:
            return load_column(connection, name)[: self.rows]

    def _derived(self, name: str) -> NDArray[Any]:
        """Computed from the scores and the measure of each task."""
        if name in ("attempts", "mixed"):
            return self._of_sample(name)
        if name == "outcome":
            return judged(self._loaded("outcome"), self.column("share"))
        scores, tasks = self.column("score"), self.column("task")
        column = np.full(self.rows, np.nan)
        for code, task in enumerate(self.tasks):
            rows = (tasks == code) & ~np.isnan(scores)
            measure = self.measure(task)
            if name == "worth":
                column[rows] = -scores[rows] if measure.lower_is_better else scores[rows]
            elif (marks := measure.marks(scores[rows & self.counts])) is not None:
                column[rows] = (scores[rows] - marks[0]) / (marks[1] - marks[0])
        return column

    def _of_sample(self, name: str) -> NDArray[Any]:
        """What is the same for all attempts at a sample; lines that do not count are ignored."""
        column = np.zeros(self.rows, np.float64 if name == "attempts" else bool)
        if not (self.column("attempt") > 1).any():
            column[self.counts] = name == "attempts"
            return column
        rows = np.flatnonzero(self.counts)
        samples = (self.column("task")[rows].astype(np.int64) << 32) + self.column("index")[rows]
        _, place, counts = np.unique(samples, return_inverse=True, return_counts=True)
        if name == "attempts":
            column[rows] = counts[place]
            return column
        scores = self.column("score")[rows]
        least, most = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
        scored = ~np.isnan(scores)
        np.minimum.at(least, place[scored], scores[scored])
        np.maximum.at(most, place[scored], scores[scored])
        column[rows] = (least < most)[place]
        return column

    def texts(self, name: str) -> PackedTexts:
        """A column of texts, loaded on first use."""
        texts = self._texts.get(name)
        if texts is None:
            with open_to_read(self._path) as connection:
                texts = load_texts(connection, name, self.rows)
            if len(self._texts) > 4:
                self._texts.clear()  # a bound on memory
            self._texts[name] = texts
        return texts

    def measure(self, task: str) -> Measure:
        return self._measures.get(task, USUAL)

    def lacks_weights(self, task: int, rows: NDArray[Any]) -> bool:
        """Whether some of these rows of the task have a label without a weight, which leaves them without a mean."""
        measure = self.measure(self.tasks[task])
        if not measure.needs_every_label:
            return False
        end = f"{measure.scorer}.{measure.field}" if measure.scorer else f".{measure.field}"
        own = rows[(self.column("task")[rows] == task) & (self._loaded("outcome")[rows] == UNSCORED)]
        labels = [self.column(name)[own] for name in self.names if name.endswith(end) and not name.startswith("meta:")]
        return any(bool((~np.isnan(label) if label.dtype.kind == "f" else label != 0).any()) for label in labels)

    def forget(self, name: str) -> None:
        """Free the memory of a column."""
        self._columns.pop(name, None)

    def previews(self, rows: list[int]) -> dict[int, dict[str, Any]]:
        marks = ",".join("?" * len(rows))
        with open_to_read(self._path) as connection:
            stored = connection.execute(f"SELECT row, data FROM previews WHERE row IN ({marks})", rows)  # noqa: S608
            return {row: msgspec.json.decode(data) for row, data in stored}
