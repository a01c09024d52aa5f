"""Full-text search: an FTS5 file in the run folder, over all text of a sample, its id included.

It holds only which word is in which row (`detail=none`): small and fast to build. A phrase in quotes is looked up
word by word and then checked against the journal itself. Scripts without spaces between words are kept as pairs of
neighbouring characters, and looked up as a phrase is.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.journal import Damaged, read_lines
from assay.results.query.syntax import SearchText
from assay.viewer.derived import ReadSoFar, derived_path, open_to_read, open_to_write, progress_in, set_progress
from assay.viewer.journal_lines import SearchLine

FILE_NAME = ".viewer-words.sqlite"
INDEXED_CHARACTERS = 100_000
"""Of each text; what lies beyond is shown but not found by search."""
NO_WORDS = frozenset({"role", "type", "logprobs", "raw"})
"""Fields whose values are not searched."""
COMMIT_ROWS = 65536
LARGE = 200_000
MANY = 5000

_TABLES = """
CREATE VIRTUAL TABLE words USING fts5(said, content='', columnsize=0, detail=none,
    tokenize="unicode61 remove_diacritics 0 categories 'L* M* N* Co'");
"""

_UNSPACED = re.compile(
    "[\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese: scripts without blanks between words."""


def words_path(folder: Path) -> Path:
    return derived_path(folder, FILE_NAME)


def update_words(folder: Path, fingerprint: str, *, only_prepare: bool = False) -> ReadSoFar:
    """Index what the journal has gained, and return how far search reaches."""
    journal = folder / "journal.jsonl"
    with open_to_write(words_path(folder), journal, fingerprint, _TABLES) as connection:
        while journal.exists() and not only_prepare and _step(connection, journal):
            pass
        return progress_in(connection)


def _step(connection: sqlite3.Connection, journal: Path) -> bool:
    """Some lines, committed; whether there may be more. It stops at a damaged line, which the index refuses."""
    with connection:  # commits, or rolls back what failed
        connection.execute("BEGIN IMMEDIATE")
        start = progress_in(connection)
        reached = start

        def rows() -> Iterator[tuple[int, str]]:
            nonlocal reached
            for line in read_lines(journal, SearchLine, place=start.offset, lines=start.rows):
                if isinstance(line, Damaged) or reached.rows - start.rows >= COMMIT_ROWS:
                    return
                yield reached.rows, tokens(text_of(line.record))
                reached = ReadSoFar(offset=line.place + len(line.line), rows=reached.rows + 1)

        connection.executemany("INSERT INTO words(rowid, said) VALUES (?, ?)", rows())
        if reached.rows > start.rows:
            set_progress(connection, journal, reached)
    return reached.rows - start.rows >= COMMIT_ROWS


def text_of(line: SearchLine) -> str:
    """The searchable text of a row: its id, prompt, reasoning, tool calls, answer, targets, verdicts and failures."""
    trace, conversation = line.trace, line.last_request
    if trace is not None:
        completions = [
            [completion.reasoning, completion.refusal, completion.tool_calls] for completion in trace.completions
        ]
        conversation = [trace.prompt, trace.messages, trace.prediction, completions, trace.items]
    scores = [[score.answer, score.reason, score.metadata] for score in line.scores]
    failures = [[f"{failure.stage} {failure.kind}", failure.message] for failure in line.failures]
    texts: list[str] = []
    _collect([line.sample_id, conversation, line.targets, scores, failures, line.metadata], texts)
    return "\n".join(texts)


def _collect(value: Any, texts: list[str]) -> None:
    """Every text inside a value, images and sounds left out."""
    if isinstance(value, str):
        if not value.startswith("data:"):
            texts.append(value[:INDEXED_CHARACTERS])
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in NO_WORDS:
                _collect(inner, texts)
    elif isinstance(value, list):
        for inner in value:
            _collect(inner, texts)
    elif value is not None and not isinstance(value, bool):
        texts.append(str(value))


def tokens(text: str) -> str:
    """The text as the tokenizer gets it: a run of characters without blanks becomes pairs, and its last character."""
    return text if text.isascii() else _UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return f" {' '.join([*(text[at : at + 2] for at in range(len(text) - 1)), text[-1]])} "


def search_text(texts: Sequence[SearchText]) -> str:
    """Parts of a query that must all be found, as one text to search for; an unfinished word comes last."""
    ordered = sorted(texts, key=lambda each: each.unfinished)
    parts = [f'"{item.words.replace(chr(34), " ")}"' if item.quoted else item.words for item in ordered]
    return " ".join(parts) + ("" if ordered[-1].unfinished else " ")


def words_of(query: str) -> list[str]:
    """The words of a query as the tokenizer would see them; the last one may be the beginning of a word."""
    parts = ["".join(run) for is_word, run in groupby(query, _in_word) if is_word]
    return [word for part in parts for word in _words_in(part)]


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _words_in(part: str) -> list[str]:
    """A word as it is; of a run of characters without blanks its pairs, or its one character."""
    words, at = [], 0
    for run in _UNSPACED.finditer(part):
        words += [part[at : run.start()], *(run[0][n : n + 2] for n in range(max(1, len(run[0]) - 1)))]
        at = run.end()
    return [word for word in (*words, part[at:]) if word]


def phrases_of(query: str) -> list[str]:
    """What must be found as it is: what stands in quotes, and runs that are kept as pairs."""
    quoted = [phrase for phrase in re.findall(r'"([^"]+)"', query) if len(words_of(phrase)) > 1]
    return quoted + [run for run in _UNSPACED.findall(query) if len(run) > 2]


def expressions(query: str) -> list[str]:
    """The query as FTS5 wants it: every word quoted; then, if the last may be unfinished, with it as a beginning."""
    words = words_of(query)
    if not words:
        return []
    single = [len(word) == 1 and _UNSPACED.match(word) is not None for word in words]
    exact = " AND ".join(f'"{word}"{" *" if alone else ""}' for word, alone in zip(words, single, strict=True))
    open_ended = _in_word(query[-1]) and len(words[-1]) >= 2 and not _UNSPACED.match(words[-1])
    return [exact, f"{exact} *"] if open_ended else [exact]


def search(path: Path, query: str) -> NDArray[np.int32]:
    """The rows that hold every word of the query, in any order; none when the query has no word."""
    with open_to_read(path) as connection:
        rows = progress_in(connection).rows
    hits = np.empty(0, np.int32)
    for wanted in expressions(query):
        # beginnings of words cost more to find, and add little to a word that is in so many samples
        if len(hits) < max(MANY, rows // 20):
            hits = _hits_of(path, wanted, rows)
    return hits


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
        row = connection.execute(
            "SELECT group_concat(rowid) FROM words WHERE words MATCH ? AND rowid >= ? AND rowid < ?",
            (wanted, start, end),
        ).fetchone()
    return np.fromstring(row[0] or "", np.int64, sep=",").astype(np.int32)
