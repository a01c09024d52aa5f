"""A journal line becomes one row of columns: outcome, numbers, labels. Columns are filled here and packed to bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.fingerprint import canonical_json
from assay.core.journal import key_number
from assay.core.types import Message
from assay.costs.spending import Spending, add_attempt
from assay.results.conversation import answer_of
from assay.results.measure import Measure
from assay.results.outcomes import outcome_of
from assay.results.per_example import question
from assay.results.report_settings import GROUP, metadata_value
from assay.storage.reached import reached_by
from assay.viewer.journal_lines import IndexLine, PromptTrace, mapping_in
from assay.viewer.packed_texts import PackedTexts

PLAIN = {
    "offset": "q",
    "length": "I",
    "key": "Q",
    "pair": "Q",
    "task": "H",
    "index": "i",
    "attempt": "H",
    "outcome": "b",
    "failure": "h",
    "score": "d",
    "seconds": "f",
    "tokens_in": "i",
    "tokens_out": "i",
    "retries": "H",
    "from_server_cache": "i",
    "uncounted": "H",
    "group": "Q",
    "targets": "Q",
    "question": "Q",
    "answer": "Q",
    "characters": "i",
    "finished": "d",
    "reached": "H",
}
"""The columns every row has, with their array type. A score that is not there is NaN here and nowhere else; a group, an
answer or a question that is not there is 0, the others are hashes. The length of an answer that is not there is −1, an
unknown time 0.
"""

MAX_COLUMNS = 64
"""Value and label columns beyond this many are not indexed: they can be read in the sample, not sorted by."""
VALUES_KEPT = 1000
"""Different labels per key whose text is kept for lists; filtering works for every label."""

TEXT_KEPT = 200
"""Characters of a text that `*` in a query looks at."""

USUAL = Measure()
"""Of a task that the run file does not know."""


def label_hash(text: str) -> int:
    """The identity of a label, never 0: 0 means the row has none."""
    return int.from_bytes(blake2b(text.encode(errors="replace"), digest_size=8).digest(), "big") or 1


def label_text(value: Any) -> str:
    """A metadata value as the text people filter by."""
    if isinstance(value, str):
        return value
    return canonical_json(value).decode(errors="replace")


def pair_hash(task: str, sample_id: str, attempt: int) -> int:
    """What two runs are joined by."""
    data = f"{task}\0{sample_id}\0{attempt}".encode(errors="replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


class _Prompt(msgspec.Struct, gc=False):
    prompt: str | None
    messages: list[Message] | None


_TURNS = msgspec.json.Decoder(list[Message] | None)


def _question_hash(trace: PromptTrace) -> int:
    """A hash of the question as `assay diff` compares it; of the raw text where the messages cannot be decoded."""
    if trace.prompt is not None:
        return label_hash(label_text(trace.prompt))
    try:
        text = question(_Prompt(None, _TURNS.decode(trace.messages)))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = bytes(trace.messages).decode(errors="replace")
    return 0 if text is None else label_hash(text)


def _targets_hash(targets: Any) -> int:
    try:
        return label_hash("\0".join(targets))
    except TypeError:  # not a list of texts: a foreign journal
        return label_hash(label_text(targets))


class Names:
    """Texts by code, in the order they were met."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self._codes = {text: code for code, text in enumerate(texts)}

    def code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code


class _Metadata(NamedTuple):
    labels: tuple[tuple[str, int, str], ...]
    """Column, hash, text."""
    numbers: tuple[tuple[str, float], ...]
    group: int


class Filler:
    """Takes lines, keeps columns of the current chunk."""

    def __init__(
        self,
        tasks: Names,
        failures: Names,
        measures: dict[str, Measure],
        labels: dict[str, dict[int, str]],
        group_by: str = GROUP,
    ) -> None:
        self.tasks = tasks
        self.failures = failures
        self.labels = labels
        """Per label column: hash -> text, at most `VALUES_KEPT` of them."""
        self._measures = measures
        self._group_by = group_by
        self._metadata_seen: dict[bytes, _Metadata] = {}
        self.begin()

    def begin(self) -> None:
        self._table: list[tuple[Any, ...]] = []
        self._numbers: dict[str, tuple[list[int], list[float]]] = {}
        self._marks: dict[str, tuple[list[int], list[int], list[str]]] = {}
        self._ids: list[str] = []
        self.rows = 0

    def add(self, line: IndexLine, offset: int, length: int) -> tuple[int, bool]:
        """One row. Returns its key and whether it failed."""
        score = self._score(line)
        outcome = outcome_of(line, score, self._measures.get(line.task, USUAL).scorer)
        spent = Spending()
        add_attempt(line, spent, {})
        failure = -1
        if line.failures:
            failure = self.failures.code(f"{line.failures[0].stage}/{line.failures[0].kind}")
        group = self._add_metadata(line.metadata)
        self._add_texts(line)
        key = key_number(line.key)
        # in the order of PLAIN
        self._table.append(
            (
                offset,
                length,
                key,
                pair_hash(line.task, line.sample_id, line.attempt),
                self.tasks.code(line.task),
                line.index,
                line.attempt,
                outcome,
                failure,
                score,
                line.seconds,
                spent.tokens_in,
                spent.tokens_out,
                0 if line.trace is None else sum(completion.retries for completion in line.trace.completions),
                spent.from_server_cache,
                spent.unknown,
                group,
                _targets_hash(line.targets),
                0 if line.trace is None else _question_hash(line.trace),
                0 if line.trace is None else label_hash(answer_of(line.trace)),
                -1 if line.trace is None else len(line.trace.prediction),
                line.finished or 0.0,
                reached_by(line)[0],
            )
        )
        self.rows += 1
        return key, failure >= 0

    def _score(self, line: IndexLine) -> float:
        """The number that the task is about; each numeric value also gets its own column."""
        for score in line.scores:
            for name, value in score.values.items():
                if isinstance(value, str):
                    self._label(f"label:{score.name}.{name}", value)
                elif (number := _number(value)) is not None:
                    self._number(f"value:{score.name}.{name}", number)
        measured = self._measures.get(line.task, USUAL).of(line)
        return math.nan if measured is None else measured

    def _number(self, column: str, value: float) -> None:
        place = self._numbers.get(column)
        if place is None:
            if len(self._numbers) >= MAX_COLUMNS:
                return
            place = self._numbers[column] = ([], [])
        place[0].append(self.rows)
        place[1].append(value)

    def _add_texts(self, line: IndexLine) -> None:
        self._ids.append(line.sample_id)
        for name, text in short_texts(line, self._measures.get(line.task, USUAL)):
            self._label(f"text:{name}", text)

    def _label(self, column: str, text: str) -> None:
        self._mark(column, self._known(column, text), text[:TEXT_KEPT])

    def _mark(self, column: str, label: int, text: str) -> None:
        place = self._marks.get(column)
        if place is None:
            if len(self._marks) >= MAX_COLUMNS:
                return
            place = self._marks[column] = ([], [], [])
        place[0].append(self.rows)
        place[1].append(label)
        place[2].append(text)

    def _known(self, column: str, text: str) -> int:
        label = label_hash(text)
        known = self.labels.setdefault(column, {})
        if label not in known and len(known) < VALUES_KEPT:
            known[label] = text[:TEXT_KEPT]
        return label

    def _add_metadata(self, raw: msgspec.Raw) -> int:
        """A label, and a number where it is one, for each key; returns the group."""
        metadata = self._metadata_of(bytes(raw))
        for name, label, text in metadata.labels:
            self._mark(name, label, text)
        for name, number in metadata.numbers:
            self._number(name, number)
        return metadata.group

    def _metadata_of(self, data: bytes) -> _Metadata:
        """Samples often share their metadata, so each distinct text of it is read once."""
        metadata = self._metadata_seen.get(data)
        if metadata is None:
            if len(self._metadata_seen) >= 4096:
                self._metadata_seen.clear()
            metadata = self._metadata_seen[data] = self._read_metadata(data)
        return metadata

    def _read_metadata(self, data: bytes) -> _Metadata:
        values = mapping_in(data) or {}
        texts = [(name, label_text(value)) for name, value in keys_of(values)]
        numbers = [(name, _number(value)) for name, value in keys_of(values) if not isinstance(value, bool)]
        group = metadata_value(values, self._group_by)
        return _Metadata(
            labels=tuple((f"meta:{key}", self._known(f"meta:{key}", text), text[:TEXT_KEPT]) for key, text in texts),
            numbers=tuple((f"num:{key}", number) for key, number in numbers if number is not None),
            group=0 if group is None else label_hash(group),
        )

    def packed(self) -> dict[str, NDArray[Any]]:
        """Every column of the chunk as an array; value and label columns are filled up to all rows."""
        table = zip(PLAIN.items(), zip(*self._table, strict=True), strict=True)
        columns = {name: _array(values, dtype) for (name, dtype), values in table}
        for name, (rows, values) in self._numbers.items():
            columns[name] = np.full(self.rows, np.nan)
            columns[name][rows] = values
        for name, (rows, labels, _) in self._marks.items():
            columns[name] = np.zeros(self.rows, "Q")
            columns[name][rows] = np.array(labels, "Q")
        return columns

    def packed_texts(self) -> dict[str, PackedTexts]:
        """The ids; and of label columns with more different texts than are kept for lists, the texts of this chunk."""
        packed = {"id": PackedTexts.of([text[:TEXT_KEPT] for text in self._ids])}
        for name, (rows, _, texts) in self._marks.items():
            if len(self.labels[name]) >= VALUES_KEPT:
                every = [""] * self.rows
                for row, text in zip(rows, texts, strict=True):
                    every[row] = text
                packed[name] = PackedTexts.of(every)
        return packed


def short_texts(line: IndexLine, measure: Measure) -> Iterator[tuple[str, str]]:
    """What was read and what was wanted, where those are short."""
    scores = line.scores
    if len(scores) > 1:
        scores = tuple(sorted(scores, key=lambda score: score.name != measure.scorer))
    answer = next((score.answer for score in scores if score.answer is not None), None)
    if answer is None and line.trace is not None:
        answer = answer_of(line.trace)
    target = line.targets[0] if isinstance(line.targets, list) and line.targets else None
    for name, text in (("answer", answer), ("target", target)):
        if isinstance(text, str) and len(text) <= TEXT_KEPT:
            yield name, text


def keys_of(metadata: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys to slice by; those of the dataset's columns are called as they are in a task: `sample.topic`."""
    for name, value in metadata.items():
        if name == "sample" and isinstance(value, dict):
            yield from ((f"sample.{column}", cell) for column, cell in value.items())
        else:
            yield name, value


def _array(values: tuple[Any, ...], dtype: str) -> NDArray[Any]:
    """Foreign journals may hold numbers that no column can: those become the nearest one that fits."""
    try:
        return np.array(values, dtype)
    except OverflowError:
        limits = np.iinfo(dtype)
        return np.array([max(limits.min, min(value, limits.max)) for value in values], dtype)


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:  # a whole number beyond any float
        return None
