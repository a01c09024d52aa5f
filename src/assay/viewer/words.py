"""Full-text search: an FTS5 file beside the run, over what was asked and what was answered.

It holds only which word is in which row (`detail=none`): small and quick to build. A phrase in quotes is looked up
word by word and then checked against the journal itself.
"""

from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.viewer.derived import Place, move, open_to_read, open_to_write, place, place_of
from assay.viewer.journal_lines import Lenient, SaidLine, whole_lines
from assay.viewer.previews import text_of

FILE_NAME = ".viewer-words.sqlite"
INDEXED_CHARACTERS = 100_000
"""Of each prompt and each answer; what lies beyond is shown but not found by search."""
COMMIT_ROWS = 65536
LARGE = 200_000
MANY = 5000

_TABLES = """
CREATE VIRTUAL TABLE words USING fts5(said, content='', columnsize=0, detail=none,
    tokenize="unicode61 remove_diacritics 0");
"""


def words_path(folder: Path) -> Path:
    return place_of(folder, FILE_NAME)


def update_words(folder: Path, fingerprint: str, *, only_prepare: bool = False) -> Place:
    """Take in what the journal has gained, and answer how far search reaches."""
    journal = folder / "journal.jsonl"
    with open_to_write(words_path(folder), journal, fingerprint, _TABLES) as connection:
        while journal.exists() and not only_prepare and _step(connection, journal):
            pass
        return place(connection)


def _step(connection: sqlite3.Connection, journal: Path) -> bool:
    """Some lines, committed; whether there may be more."""
    decode = Lenient(SaidLine)
    connection.execute("BEGIN IMMEDIATE")
    try:
        start = place(connection)
        offset, row = start.offset, start.rows
        for begins, lines in whole_lines(journal, start.offset):
            texts = [(row + n, said(line)) for n, data in enumerate(lines) if (line := decode(data)) is not None]
            connection.executemany("INSERT INTO words(rowid, said) VALUES (?, ?)", texts)
            row += len(lines)
            offset = begins + sum(map(len, lines)) + len(lines)
            if row - start.rows >= COMMIT_ROWS:
                break
        if row > start.rows:
            move(connection, journal, Place(offset=offset, rows=row))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return row - start.rows >= COMMIT_ROWS


def said(line: SaidLine) -> str:
    """The text of a row that can be searched."""
    trace = line.trace
    if trace is None:
        return (line.asked or "")[:INDEXED_CHARACTERS]
    answer = trace.prediction[:INDEXED_CHARACTERS]
    if trace.prompt is not None:
        return f"{trace.prompt[:INDEXED_CHARACTERS]}\n{answer}"
    asked = "\n".join(text_of(message.content) for message in trace.messages or ())
    return f"{asked[:INDEXED_CHARACTERS]}\n{answer}"


def words_of(query: str) -> list[str]:
    """The words of a query as the tokenizer would see them; the last one may be the beginning of a word."""
    return re.findall(r"[^\W_]+", query)


def phrases_of(query: str) -> list[str]:
    """What stands in quotes, to be found as it is."""
    return [found for found in re.findall(r'"([^"]+)"', query) if len(words_of(found)) > 1]


def expressions(query: str) -> list[str]:
    """The query as FTS5 wants it: every word quoted; then, if the last may be unfinished, with it as a beginning."""
    words = words_of(query)
    if not words:
        return []
    exact = " AND ".join(f'"{word}"' for word in words)
    return [exact, f"{exact} *"] if query[-1].isalnum() and len(words[-1]) >= 2 else [exact]


def search(path: Path, query: str) -> NDArray[np.int32]:
    """The rows that hold every word of the query, in any order; none when the query has no word."""
    with open_to_read(path) as connection:
        rows = place(connection).rows
    found = np.empty(0, np.int32)
    for wanted in expressions(query):
        # beginnings of words cost more to find, and add little to a word that is in so many samples
        if len(found) < max(MANY, rows // 20):
            found = _hits_of(path, wanted, rows)
    return found


def _hits_of(path: Path, wanted: str, rows: int) -> NDArray[np.int32]:
    if rows < LARGE:
        return _hits(path, wanted, 0, rows)
    with ThreadPoolExecutor(2) as threads:
        # a word that is in every sample has a million hits; SQLite looks for them on both cores
        halves = threads.map(lambda ends: _hits(path, wanted, *ends), [(0, rows // 2), (rows // 2, rows)])
        return np.concatenate(list(halves))


def _hits(path: Path, wanted: str, start: int, end: int) -> NDArray[np.int32]:
    with open_to_read(path) as connection:
        # one value of one row: all hits cross into Python at once
        found = connection.execute(
            "SELECT group_concat(rowid) FROM words WHERE words MATCH ? AND rowid >= ? AND rowid < ?",
            (wanted, start, end),
        ).fetchone()
    return np.fromstring(found[0] or "", np.int64, sep=",").astype(np.int32)
