"""Attempts as columns of digests and scores, so that two runs of a million samples can be paired in memory.

Texts are not kept: equal digests mean equal texts, and `Side.example` goes back to the file for the few that are shown.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, Struct
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.journal import read_placed_lines
from assay.core.run_file import read_run_file
from assay.core.types import Message, Record, ScoreValue, TaskDefinition
from assay.reports.board import Leaderboard, read_leaderboard_file
from assay.reports.leaderboard import build_leaderboard
from assay.reports.measure import Measure, measure_of
from assay.reports.per_example import OWN_TURNS, PerExample, per_example
from assay.reports.view import View, metadata_value

Digests = NDArray[np.uint64]
Places = NDArray[np.int64]


@dataclass(slots=True)
class _Rows:
    """Columns while they are being filled."""

    identities: array[int] = field(default_factory=lambda: array("Q"))
    samples: array[int] = field(default_factory=lambda: array("Q"))
    questions: array[int] = field(default_factory=lambda: array("Q"))
    targets: array[int] = field(default_factory=lambda: array("Q"))
    answers: array[int] = field(default_factory=lambda: array("Q"))
    groups: array[int] = field(default_factory=lambda: array("Q"))
    slices: dict[str, array[int]] = field(default_factory=dict)
    scores: array[float] = field(default_factory=lambda: array("d"))
    failed: array[int] = field(default_factory=lambda: array("b"))
    places: array[int] = field(default_factory=lambda: array("q"))
    names: dict[int, str] = field(default_factory=dict)
    """Digest of a slice's value -> the value."""


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
    """Of the cluster a sample belongs to: its group, or the sample itself."""
    slices: dict[str, Digests]
    scores: NDArray[np.float64]
    """NaN where there is none: a hole in a column, which never leaves as a number."""
    failed: NDArray[np.bool_]
    places: Places
    names: dict[int, str]

    @property
    def scored(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = ~np.isnan(self.scores)
        return found

    def __len__(self) -> int:
        return len(self.identities)


@dataclass(frozen=True, slots=True)
class Side:
    """One result, from a run folder or from a leaderboard file with per-example records."""

    source: Path
    board: Leaderboard
    tasks: dict[str, Columns]
    """Only tasks whose attempts are known one by one."""
    measures: dict[str, Measure]

    def example(self, task: str, place: int) -> PerExample:
        """The attempt at that place of the journal, or of the list."""
        if self.source.is_dir():
            return per_example(_record_at(self.source / "journal.jsonl", place), self.measures[task])
        examples = next(row.per_example for row in self.board.tasks if row.task == task)
        assert examples is not UNSET  # noqa: S101 - a place was made from this very list
        return examples[place]


def read_side(source: Path | str, view: View) -> Side:
    """Whatever the path holds, ready to be paired."""
    path = Path(source)
    if path.is_dir():
        return _from_run(path, view)
    board = read_leaderboard_file(path)
    measures = {row.task: Measure(lower_is_better=row.lower_is_better) for row in board.tasks}
    columns = {
        row.task: _finished(_from_examples(row.per_example, view, measures[row.task]), f"{path}: task `{row.task}`")
        for row in board.tasks
        if row.per_example is not UNSET
    }
    return Side(path, board, columns, measures)


def _record_at(journal: Path, place: int) -> Record:
    """The one record that begins there."""
    with open(journal, "rb") as file:
        file.seek(place)
        return msgspec.json.decode(file.readline(), type=Record)


class _Trace(Struct):
    prediction: str
    prompt: str | None = None
    messages: list[Message] | None = None


class _Score(Struct):
    name: str
    values: dict[str, ScoreValue]


class _Line(Struct):
    key: str
    task: str
    sample_id: str
    attempt: int = 1
    targets: list[str] = []
    metadata: dict[str, Any] = {}
    trace: _Trace | None = None
    scores: list[_Score] = []
    failures: list[Any] = []
    excluded: list[str] = []


def _from_run(folder: Path, view: View) -> Side:
    run = read_run_file(folder)
    measures = {definition.name: measure_of(definition) for definition in run.definitions}
    columns = read_columns(folder, run.definitions, view)
    return Side(folder, build_leaderboard(folder, view), columns, measures)


def read_columns(folder: Path, definitions: Iterable[TaskDefinition], view: View) -> dict[str, Columns]:
    """The journal of a run, once through."""
    measures = {definition.name: measure_of(definition) for definition in definitions}
    tasks = {name: _Rows() for name in measures}
    latest: dict[str, dict[int, int]] = {name: {} for name in measures}
    journal = folder / "journal.jsonl"
    for place, line in read_placed_lines(journal, _Line) if journal.exists() else ():
        rows = tasks.get(line.task)
        if rows is None or line.excluded:
            continue
        if line.failures:
            # made again later, perhaps: then this row is dropped
            latest[line.task][int(line.key, 16)] = len(rows.identities)
        elif latest[line.task]:
            latest[line.task].pop(int(line.key, 16), None)
        asked = _asked(line.trace) if line.trace is not None else None
        _put(
            rows,
            view,
            sample=line.sample_id,
            attempt=line.attempt,
            question=asked,
            targets=tuple(line.targets),
            answer=line.trace.prediction if line.trace is not None else None,
            score=None if line.failures else _upwards(measures[line.task].of(line.scores), measures[line.task]),
            failed=bool(line.failures),
            metadata=line.metadata,
            place=place,
        )
    return {
        name: _finished(rows, f"{folder}: task `{name}`", keep_failed=set(latest[name].values()))
        for name, rows in tasks.items()
    }


def _upwards(score: float | None, measure: Measure) -> float | None:
    """The score, turned round where lower is better: in columns more is always better."""
    return -score if score is not None and measure.lower_is_better else score


def _from_examples(examples: list[PerExample], view: View, measure: Measure) -> _Rows:
    rows = _Rows()
    for place, example in enumerate(examples):
        _put(
            rows,
            view,
            sample=example.id,
            attempt=example.attempt,
            question=example.prompt,
            targets=example.targets,
            answer=example.prediction,
            score=_upwards(example.score, measure),
            failed=example.failure is not None,
            metadata=example.metadata,
            place=place,
        )
    return rows


def _asked(trace: _Trace) -> str | None:
    """The question in the words `per_example.question` uses, so that a run and its leaderboard file agree."""
    if trace.prompt is not None or trace.messages is None:
        return trace.prompt
    return "\n\n".join(f"{turn.role}: {turn.content}" for turn in trace.messages if turn.role not in OWN_TURNS)


def _put(
    rows: _Rows,
    view: View,
    *,
    sample: str,
    attempt: int,
    question: str | None,
    targets: tuple[str, ...],
    answer: str | None,
    score: float | None,
    failed: bool,
    metadata: dict[str, Any],
    place: int,
) -> None:
    group = metadata_value(metadata, view.group_by)
    rows.identities.append(_digest((sample, attempt)))
    rows.samples.append(_digest(sample))
    rows.questions.append(_digest(question))
    rows.targets.append(_digest(targets))
    rows.answers.append(_digest(answer))
    rows.groups.append(_digest(("sample", sample) if group is None else ("group", group)))
    for key in view.by:
        value = metadata_value(metadata, key) or "(none)"
        code = _digest(value)
        rows.names[code] = value
        rows.slices.setdefault(key, array("Q")).append(code)
    rows.scores.append(np.nan if score is None else score)
    rows.failed.append(failed)
    rows.places.append(place)


def _finished(rows: _Rows, where: str, keep_failed: set[int] | None = None) -> Columns:
    """Columns without the failed rows that were made up for, sorted by identity."""
    failed = np.array(rows.failed, dtype=bool)
    kept = np.ones(len(failed), dtype=bool)
    if keep_failed is not None:
        kept = ~failed
        kept[list(keep_failed)] = True
    identities = np.array(rows.identities, dtype=np.uint64)
    order = np.flatnonzero(kept)
    order = order[np.argsort(identities[order], kind="stable")]
    identities = identities[order]
    if len(identities) and (identities[1:] == identities[:-1]).any():
        raise UsageError(f"{where}: two samples have the same id, so answers cannot be paired by it")
    return Columns(
        identities=identities,
        samples=np.array(rows.samples, dtype=np.uint64)[order],
        questions=np.array(rows.questions, dtype=np.uint64)[order],
        targets=np.array(rows.targets, dtype=np.uint64)[order],
        answers=np.array(rows.answers, dtype=np.uint64)[order],
        groups=np.array(rows.groups, dtype=np.uint64)[order],
        slices={key: np.array(codes, dtype=np.uint64)[order] for key, codes in rows.slices.items()},
        scores=np.array(rows.scores, dtype=np.float64)[order],
        failed=failed[order],
        places=np.array(rows.places, dtype=np.int64)[order],
        names=rows.names,
    )


def _digest(value: Hashable) -> int:
    # Python's own 64-bit hash: columns never leave this process, and a million texts are hashed in no time
    return hash(value) & 0xFFFF_FFFF_FFFF_FFFF
