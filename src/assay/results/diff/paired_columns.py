"""Attempts as columns of digests and scores, so that two runs of a million samples can be paired in memory.

Texts are not kept: equal digests mean equal texts, and `Side.example` goes back to the file for the few that are shown.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.journal import lines_at
from assay.core.types import Message, Record
from assay.results.board.board_types import Leaderboard, TaskRow
from assay.results.board.consistency import read_checked_board
from assay.results.board.journal_table import AttemptLine, TraceLine
from assay.results.board.leaderboard import build_leaderboard
from assay.results.board.python_metrics import read_python_metrics, replicates_in
from assay.results.conversation import Part, answer_of
from assay.results.measure import Measure, addends_of, measures_of
from assay.results.outcomes import failures_of
from assay.results.pace import Pace
from assay.results.per_example import PerExample, per_example, question, question_media
from assay.results.report_settings import View, metadata_value
from assay.run_file import RunFile, read_run_file
from assay.stats.replicates import Replicates
from assay.stats.sums import names_in
from assay.task_records import MadeOf

Digests = NDArray[np.int64]
PlaceColumn = NDArray[np.int64]


@dataclass(slots=True)
class _Rows:
    """Columns while they are being filled."""

    packed: bytearray = field(default_factory=bytearray)
    """Row by row, each as `_ROW`: packing a row is faster than appending its parts one by one."""
    slices: dict[str, array[int]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    """Digest of a slice's value -> the value."""
    addends: array[float] | None = None
    """The values of every attempt that the score is computed from, one after the other; None where it is a mean."""
    width: int = 0
    """How many values those are."""


_WHOLE_NUMBERS = ("identities", "samples", "questions", "targets", "answers", "groups", "places")
_ROW = np.dtype([*((name, np.int64) for name in _WHOLE_NUMBERS), ("scores", np.float64), ("failed", np.bool_)])
_pack = Struct("=8s8sqqq8sqd?").pack
"""A `_ROW`; of the digests the bytes, which are the numbers too."""
_unpack = Struct("=q").unpack


@dataclass(frozen=True, slots=True)
class Columns:
    """The attempts of one task, sorted by identity, each once."""

    identities: Digests
    """Of (sample id, attempt)."""
    samples: Digests
    questions: Digests
    targets: Digests
    answers: Digests
    groups: Digests
    """Of the sample's cluster: its group, or the sample itself."""
    slices: dict[str, Digests]
    scores: NDArray[np.float64]
    """NaN where there is none: a gap in a column, never reported as a number."""
    failed: NDArray[np.bool_]
    places: PlaceColumn
    names: dict[int, str]
    addends: NDArray[np.float64] | None = None
    """The values of each attempt that the score is computed from, NaN where it has no part in it; None where the score
    is a mean of the attempts, or where those are not known."""

    @property
    def scored(self) -> NDArray[np.bool_]:
        scored: NDArray[np.bool_] = ~np.isnan(self.scores)
        return scored

    @property
    def has_part(self) -> NDArray[np.bool_]:
        """The attempts that have a part in the score: their number, or the values that it is computed from."""
        return self.in_score if self.addends is None else ~np.asarray(np.isnan(self.addends).any(axis=1))

    @property
    def in_score(self) -> NDArray[np.bool_]:
        """The attempts behind the task's score: those with a number; where none has one (F1, `max`), all that did not
        fail.
        """
        scored = self.scored
        return scored if scored.any() else np.asarray(~self.failed)

    @property
    def groupless(self) -> bool:
        """Whether there are attempts, and each one's cluster is its sample."""
        return len(self) > 0 and bool((self.groups == self.samples).all())

    def __len__(self) -> int:
        return len(self.identities)

    def without_numbers(self) -> Columns:
        """The attempts of a task whose score is not a mean of theirs."""
        return replace(self, scores=np.full(len(self), np.nan), addends=None)

    def by_sample(self) -> Columns:
        """One row for each sample, with the mean over its scored attempts: their numbering means nothing, since each
        attempt is a draw of its own. The columns themselves where no sample was tried twice.
        """
        distinct, first, codes = np.unique(self.samples, return_index=True, return_inverse=True)
        if len(distinct) == len(self):
            return self
        scored = self.scored
        counts = np.bincount(codes[scored], minlength=len(distinct))
        sums = np.bincount(codes[scored], weights=self.scores[scored], minlength=len(distinct))
        means = np.divide(sums, counts, out=np.full(len(distinct), np.nan), where=counts > 0)
        left = np.bincount(codes, weights=~self.failed, minlength=len(distinct))
        addends = None if self.addends is None else _sums_of(self.addends, codes, len(distinct))
        return replace(self.only(first), identities=distinct, scores=means, failed=left == 0, addends=addends)

    def attempts_per_sample(self) -> NDArray[np.int64]:
        """How many attempts at each sample there are, failed ones too, in the order of `by_sample`."""
        distinct, counts = np.unique(self.samples, return_counts=True)
        return np.ones(len(self), dtype=np.int64) if len(distinct) == len(self) else counts.astype(np.int64)

    def place_of(self, sample: int, *, best: bool) -> int:
        """Where the best, or the worst, attempt at a sample is recorded."""
        rows = np.flatnonzero((self.samples == sample) & self.scored)
        scores = self.scores[rows]
        return int(self.places[rows[scores.argmax() if best else scores.argmin()]])

    def with_failed(self, others: Columns) -> Columns:
        """These attempts, and those of another result as failed ones."""
        order = np.argsort(np.concatenate([self.identities, others.identities]))
        failed = replace(others, scores=np.full(len(others), np.nan), failed=np.ones(len(others), dtype=np.bool_))
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(failed, name)])[order] for name in _PER_ATTEMPT
        }
        addends = self.addends
        if addends is not None:
            addends = np.concatenate([addends, np.full((len(others), addends.shape[1]), np.nan)])[order]
        return replace(self, **joined, slices={}, addends=addends)

    def only(self, rows: NDArray[np.bool_] | NDArray[np.intp]) -> Columns:
        kept = {name: getattr(self, name)[rows] for name in _PER_ATTEMPT}
        kept["addends"] = None if self.addends is None else self.addends[rows]
        return replace(self, **kept, slices={key: codes[rows] for key, codes in self.slices.items()})


_PER_ATTEMPT = (*_WHOLE_NUMBERS, "scores", "failed")


def _sums_of(addends: NDArray[np.float64], codes: NDArray[np.intp], size: int) -> NDArray[np.float64]:
    """The sums over the attempts at each sample that have a part in them; NaN where none has."""
    known = ~np.isnan(addends).any(axis=1)
    sums = [np.bincount(codes[known], weights=column[known], minlength=size) for column in addends.T]
    has_any = np.bincount(codes[known], minlength=size) > 0
    return np.where(has_any[:, None], np.column_stack(sums), np.nan)


@dataclass(frozen=True, slots=True)
class Side:
    """One result, from a run folder or from a leaderboard file with per-example records."""

    source: Path
    board: Leaderboard
    tasks: dict[str, Columns]
    """Only tasks whose attempts are known one by one."""
    measures: dict[str, Measure]
    replicates: dict[str, Replicates] = field(default_factory=dict)
    """Per task whose score only its own code computes: the score over resamples."""
    paces: dict[str, Pace] = field(default_factory=dict)
    """Per task; of a run folder, where they were asked for."""
    identify: Callable[[str, str, int], int] = lambda task, sample, attempt: identity(sample, attempt)
    """The identity of an attempt of a task in `Columns.identities`."""

    def example(self, task: str, place: int) -> PerExample:
        """The attempt at that place of the journal, or of the list."""
        if self.source.is_dir():
            [(_, record)] = lines_at(self.source / "journal.jsonl", Record, [place])
            return per_example(record, self.measures[task])
        examples = next(row.per_example for row in self.board.tasks if row.task == task)
        assert examples is not UNSET  # noqa: S101 - a place was made from this list
        return examples[place]

    def media(self, task: str, sample: str, attempt: int) -> list[Part]:
        """The images and sounds of a question; a leaderboard file names them in the prompt and holds none."""
        if not self.source.is_dir():
            return []
        columns = self.tasks[task]
        row = int(np.searchsorted(columns.identities, self.identify(task, sample, attempt)))
        [(_, record)] = lines_at(self.source / "journal.jsonl", Record, [int(columns.places[row])])
        return question_media(record)


def read_side(source: Path | str, view: View, *, pace: bool = False) -> Side:
    """The result at the path, ready to be paired; with `pace` also how long its attempts took, which takes longer."""
    path = Path(source)
    if path.is_dir():
        return _from_run(path, view, pace)
    board = read_checked_board(path)
    measures = {row.task: _measure_of(row) for row in board.tasks}
    columns = {
        row.task: _tested(
            row, _finished(_from_examples(row.per_example, view, measures[row.task]), f"{path}: task `{row.task}`")
        )
        for row in board.tasks
        if row.per_example is not UNSET
    }
    return Side(path, board, columns, measures)


def _measure_of(row: TaskRow) -> Measure:
    """As much of a task's measure as a leaderboard file holds; its scores are already computed."""
    return Measure(
        headline=row.compared_by is None,
        lower_is_better=row.lower_is_better,
        bounds=row.range if row.compared_by is None else None,
        score_bounds=row.range,
        made_of=row.made_of,
        untested=row.untested,
    )


def _tested(row: TaskRow, columns: Columns) -> Columns:
    """The attempts of a task, without numbers where nothing is concluded from those."""
    return columns if row.untested is None else columns.without_numbers()


class _Trace(TraceLine, gc=False):
    prompt: str | None = None
    messages: list[Message] | None = None


class _Line(AttemptLine, gc=False):
    """A journal line as far as tables and comparisons need it."""

    targets: tuple[str, ...] = ()
    trace: _Trace | None = None
    finished: float | None = None


def _from_run(folder: Path, view: View, pace: bool) -> Side:
    """Leaderboard and columns from one walk through the journal."""
    run = read_run_file(folder)
    reading = _Reading(folder, measures_of(run.definitions), view)
    board = build_leaderboard(folder, view, kind=_Line, watch=reading.add_with_pace if pace else reading.add)
    columns = reading.finished({row.task: row for row in board.tasks})
    scales = {row.task: row.range for row in board.tasks}
    measures = {name: measure.on(scales[name]) for name, measure in reading.measures.items()}
    return Side(folder, board, columns, measures, _replicates(folder, run, board, measures), reading.paces)


def _replicates(
    folder: Path, run: RunFile, board: Leaderboard, measures: Mapping[str, Measure]
) -> dict[str, Replicates]:
    if not any(measure.redrawn for measure in measures.values()):
        return {}
    kept, scores = read_python_metrics(folder), {row.task: row.score for row in board.tasks}
    found = {each.name: replicates_in(kept, each, scores.get(each.name)) for each in run.definitions}
    return {name: each for name, each in found.items() if each is not None and measures[name].redrawn}


class _Reading:
    """Fills the columns of every task with the lines that count."""

    def __init__(self, folder: Path, measures: dict[str, Measure], view: View) -> None:
        self.measures = measures
        self._folder = folder
        self._view = view
        self._rows = {name: _empty_rows(measure) for name, measure in measures.items()}
        self.paces = {name: Pace() for name in measures}

    def finished(self, board: Mapping[str, TaskRow]) -> dict[str, Columns]:
        return {
            name: _tested(board[name], _finished(rows, f"{self._folder}: task `{name}`"))
            for name, rows in self._rows.items()
        }

    def add(self, place: int, line: _Line) -> None:
        if line.excluded:
            return
        measure = self.measures[line.task]
        _put(
            self._rows[line.task],
            self._view,
            line.sample_id,
            line.attempt,
            None if line.trace is None else question(line.trace),
            line.targets,
            None if line.trace is None else answer_of(line.trace),
            measure.upwards(measure.of(line)),
            bool(failures_of(measure.scorer, line.failures)),
            line.metadata,
            place,
            None if measure.made_of is None else measure.addends(line),
        )

    def add_with_pace(self, place: int, line: _Line) -> None:
        self.add(place, line)
        answer, tokens = None, None
        if line.trace is not None:
            answer = line.trace.prediction
            for completion in line.trace.completions:
                if completion.tokens_out is not None:
                    tokens = (tokens or 0) + completion.tokens_out
        pace = self.paces[line.task]
        pace.add(line.seconds, answer, tokens, line.finished, failed=bool(line.failures))


def _from_examples(examples: list[PerExample], view: View, measure: Measure) -> _Rows:
    rows = _empty_rows(measure)
    for place, example in enumerate(examples):
        if example.excluded:
            continue
        _put(
            rows,
            view,
            example.id,
            example.attempt,
            example.prompt,
            example.targets,
            example.prediction,
            measure.upwards(example.score),
            example.failure is not None,
            example.metadata,
            place,
            None if measure.made_of is None or example.failure is not None else _addends_in(example, measure.made_of),
        )
    return rows


def _empty_rows(measure: Measure) -> _Rows:
    return _Rows() if measure.made_of is None else _Rows(addends=array("d"), width=len(names_in(measure.made_of)))


def _addends_in(example: PerExample, made_of: MadeOf) -> list[float] | None:
    scorers = [made_of.scorer] if made_of.scorer is not None else [*example.values]
    return addends_of(made_of, {name: value for key in scorers for name, value in example.values.get(key, {}).items()})


def identity(sample: str, attempt: int = 1) -> int:
    """The identity of an attempt in `Columns.identities`, equal in every process: numbers are summed in its order.

    What is only tested for equality is identified by Python's own hash, which is faster.
    """
    number: int = _unpack(_digest(sample, _OF_SAMPLE if attempt == 1 else _of_attempt(attempt)))[0]
    return number


_OF_SAMPLE, _OF_GROUP = blake2b(digest_size=8), blake2b(digest_size=8, person=b"group")
"""Copied for every line: creating a new one takes twice as long."""


def _of_attempt(attempt: int) -> blake2b:
    return blake2b(digest_size=8, person=b"%d" % attempt)


def _digest(text: str, kind: blake2b) -> bytes:
    digest = kind.copy()
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


def _put(
    rows: _Rows,
    view: View,
    sample: str,
    attempt: int,
    question: str | None,
    targets: tuple[str, ...],
    answer: str | None,
    score: float | None,
    failed: bool,
    metadata: dict[str, Any],
    place: int,
    addends: Sequence[float] | None,
) -> None:
    of_sample = _digest(sample, _OF_SAMPLE)
    group = metadata_value(metadata, view.group_by) if metadata else None
    rows.packed.extend(
        _pack(
            of_sample if attempt == 1 else _digest(sample, _of_attempt(attempt)),  # nearly every attempt is the first
            of_sample,
            hash(question),
            hash(targets),
            hash(answer),
            of_sample if group is None else _digest(group, _OF_GROUP),
            place,
            _NAN if score is None else score,
            failed,
        )
    )
    if rows.addends is not None:
        rows.addends.extend([_NAN] * rows.width if addends is None else addends)
    for key in view.by:
        value = metadata_value(metadata, key) or "(none)"
        code = hash(value)
        rows.names[code] = value
        rows.slices.setdefault(key, array("q")).append(code)


_NAN = float("nan")


def _finished(rows: _Rows, where: str) -> Columns:
    """The columns, sorted by identity."""
    packed = np.frombuffer(rows.packed, dtype=_ROW)
    order = np.argsort(packed["identities"], kind="stable")
    columns = {name: packed[name][order] for name in _PER_ATTEMPT}
    identities = columns["identities"]
    if len(identities) and (identities[1:] == identities[:-1]).any():
        raise UsageError(f"{where}: two samples have the same id, so answers cannot be paired by it")
    return Columns(
        **columns,
        slices={key: np.array(codes, dtype=np.int64)[order] for key, codes in rows.slices.items()},
        names=rows.names,
        addends=None if rows.addends is None else np.array(rows.addends).reshape(-1, rows.width)[order],
    )
