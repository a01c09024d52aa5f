"""The attempts of one run, located in one walk of its journal and read on demand, in the order of the datasets.

The walk keeps a few numbers of every attempt that counts (the place of its line, its score, its outcome) and the
columns of its scores and metadata; texts stay in the file.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.core.journal import counting_lines, lines_at
from assay.core.types import Record
from assay.costs.prices import Prices, find_prices
from assay.costs.spending import Spending, add_attempt, cost_of, judge_rows, total_cost
from assay.results.board.board_types import Leaderboard
from assay.results.board.journal_table import Place, ScoredLine
from assay.results.board.leaderboard import build_leaderboard
from assay.results.frames.attempt import Attempt
from assay.results.frames.frame_columns import Seen
from assay.results.measure import Measure, measures_of
from assay.results.metric_label import metric_label
from assay.results.outcomes import OUTCOMES, judged, outcome_of
from assay.results.report_settings import View, view_of
from assay.run_file import RunFile, read_run_file
from assay.text.wording import hint

Only = Callable[[Record], bool]
"""Selects the attempts of a table by their records."""

MOST_VALUES = 1000
"""The most score values that become columns; a table with more is refused."""
MOST_METADATA = 500
"""The most metadata keys that become columns; more of them become one column of JSON."""


class _WholeLine(Record, frozen=True, kw_only=True):
    """A record whose numbers fit a column, as every table requires."""

    index: Place
    attempt: Place = 1


@dataclass(slots=True)
class Survey:
    """Every attempt that counts, in the order of the datasets, and their columns."""

    places: NDArray[np.int64]
    tasks: NDArray[np.int64]
    """Position of each attempt's task in the run's definitions."""
    ids: NDArray[np.int64]
    """Hashes of the samples' ids, valid in this process only."""
    scores: NDArray[np.float64]
    """NaN where there is none: a gap in a column, never reported as a number."""
    outcomes: NDArray[np.int8]
    values: dict[tuple[str, str], Seen]
    """By scorer and value."""
    reasons: dict[str, Seen]
    """By scorer."""
    metadata: dict[str, Seen]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class RunSource:
    """A run folder; nothing in it is executed, and only its own regular files are opened."""

    folder: Path
    label: str
    """The name of the run in tables."""
    run: RunFile
    view: View
    picked: frozenset[int] | None = None
    """The places of the selected attempts in the journal; None selects all that count."""

    @classmethod
    def of(cls, folder: Path, label: str | None = None, **changes: Any) -> RunSource:
        run = read_run_file(folder)
        view = msgspec.structs.replace(view_of(run.config, folder), **changes)
        return cls(folder, label or folder.resolve().name, run, view)

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def model(self) -> str:
        return str(self.run.model["name"])

    @cached_property
    def board(self) -> Leaderboard:
        return build_leaderboard(self.folder, self.view)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        return measures_of(self.run.definitions)

    @cached_property
    def metric_definitions(self) -> dict[str, str]:
        """The word that each task is scored by, with its definition where the word alone has another."""
        return {definition.name: metric_label(definition) for definition in self.run.definitions}

    @cached_property
    def prices(self) -> Prices:
        return (self.view.prices or find_prices(run=self.folder)).where_unbilled(self.run.unbilled)

    @cached_property
    def survey(self) -> Survey:
        return self.survey_of(None)

    def survey_of(self, only: Only | None) -> Survey:
        """Walk the journal; `only` selects attempts."""
        walk = _Walk(self.measures)
        if only is None:
            for place, line in counting_lines(self.journal, ScoredLine):
                walk.add(place, line, is_picked=self.picked is None or place in self.picked)
        else:
            for place, record in counting_lines(self.journal, _WholeLine):
                walk.add(place, record, is_picked=record.task in self.measures and only(record))
        survey = walk.finished()
        if any(measure.needs_every_label for measure in self.measures.values()):
            for code, row in enumerate(self.board.tasks):
                if not self.measures[row.task].is_in_mean(row.score):
                    survey.scores[survey.tasks == code] = np.nan
        return survey

    def attempts(self, task: str | None = None, survey: Survey | None = None) -> Iterator[Attempt]:
        """The attempts that count, task by task in the order of the dataset, each read on demand."""
        survey = survey or self.survey
        rows: Sequence[int] = range(len(survey))
        if task is not None:
            rows = np.flatnonzero(survey.tasks == self._code(task)).tolist()
        return self.read(survey, rows)

    def failed(self, task: str | None = None) -> Iterator[Attempt]:
        """The attempts that failed, without those that the task's own rules exclude."""
        broken = np.isin(self.survey.outcomes, [OUTCOMES.index("failed"), OUTCOMES.index("timeout")])
        if task is not None:
            broken &= self.survey.tasks == self._code(task)
        return self.read(self.survey, np.flatnonzero(broken).tolist())

    def sample(self, sample_id: str, task: str | None = None) -> list[Attempt]:
        """Every attempt at the samples of that id."""
        rows = self.survey.ids == hash(sample_id)
        if task is not None:
            rows &= self.survey.tasks == self._code(task)
        attempts = self.read(self.survey, np.flatnonzero(rows).tolist())
        return [attempt for attempt in attempts if attempt.sample_id == sample_id]

    def _code(self, task: str) -> int:
        names = list(self.measures)
        if task not in self.measures:
            raise UsageError(f"{self.folder}: the run has no task `{task}`. {hint(task, names, 'Its tasks')}")
        return names.index(task)

    def read(self, survey: Survey, rows: Sequence[int]) -> Iterator[Attempt]:
        """In the order of the rows, with the file open until the iteration ends."""
        if not rows:
            return  # there may be no journal yet
        for row, record in zip(rows, self._records(survey, rows), strict=True):
            score = float(survey.scores[row])
            yield self._attempt(record, None if np.isnan(score) else score, OUTCOMES[survey.outcomes[row]])

    def _records(self, survey: Survey, rows: Sequence[int]) -> Iterator[Record]:
        try:
            for _, record in lines_at(self.journal, Record, (int(survey.places[row]) for row in rows)):
                yield record
        except (FileNotFoundError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UsageError(f"{self.journal}: was moved or changed while it was read; open the run again") from error

    def _attempt(self, record: Record, score: float | None, outcome: str) -> Attempt:
        spent, judges = Spending(), dict[str, Spending]()
        add_attempt(record, spent, judges)
        judged_by = judge_rows(judges, self.prices)
        return Attempt(
            record=record,
            score=score,
            outcome=outcome,
            tokens_in=spent.tokens_in,
            tokens_out=spent.tokens_out,
            tokens_reasoning=sum(
                completion.tokens_reasoning or 0 for completion in (record.trace.completions if record.trace else ())
            ),
            cached=spent.cached,
            cost=cost_of(spent, self.prices, self.model),
            judge_tokens_in=sum(item.tokens_in for item in judged_by),
            judge_tokens_out=sum(item.tokens_out for item in judged_by),
            judge_cost=total_cost(item.cost for item in judged_by),
            measure=self.measures[record.task],
        )


@dataclass(slots=True)
class _Walk:
    """The columns of a survey while they are being filled."""

    measures: dict[str, Measure]
    places: array[int] = field(default_factory=lambda: array("q"))
    tasks: array[int] = field(default_factory=lambda: array("q"))
    ids: array[int] = field(default_factory=lambda: array("q"))
    samples: array[int] = field(default_factory=lambda: array("q"))
    attempts: array[int] = field(default_factory=lambda: array("q"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    outcomes: array[int] = field(default_factory=lambda: array("b"))
    picked: array[int] = field(default_factory=lambda: array("b"))
    """What counts as right depends on all attempts of a task, even those that were not selected."""
    values: dict[tuple[str, str], Seen] = field(default_factory=lambda: defaultdict(Seen))
    reasons: dict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    metadata: dict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    codes: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.codes = {name: code for code, name in enumerate(self.measures)}

    def add(self, place: int, line: ScoredLine | _WholeLine, *, is_picked: bool = True) -> None:
        code = self.codes.get(line.task)
        if code is None:
            return  # a task that the run file does not list, as on no leaderboard
        measure = self.measures[line.task]
        number = measure.of(line)
        score = np.nan if number is None else number
        self.places.append(place)
        self.tasks.append(code)
        self.ids.append(hash(line.sample_id))
        self.samples.append(line.index)
        self.attempts.append(line.attempt)
        self.scores.append(score)
        self.outcomes.append(outcome_of(line, score, measure.scorer))
        self.picked.append(is_picked)
        if is_picked:
            self._see(line)

    def _see(self, line: ScoredLine | _WholeLine) -> None:
        for score in line.scores:
            for name, value in score.values.items():
                if (score.name, name) in self.values or len(self.values) <= MOST_VALUES:
                    self.values[score.name, name].add(value)
            if score.reason is not None:
                self.reasons[score.name].add(score.reason)
        for key, value in line.metadata.items():
            if key in self.metadata or len(self.metadata) <= MOST_METADATA:
                self.metadata[key].add(value)

    def finished(self) -> Survey:
        tasks, samples = np.asarray(self.tasks, np.int64), np.asarray(self.samples, np.int64)
        order = np.lexsort((np.asarray(self.attempts, np.int64), samples, tasks))
        order = order[np.asarray(self.picked, bool)[order]]
        scores = np.asarray(self.scores, np.float64)
        return Survey(
            places=np.asarray(self.places, np.int64)[order],
            tasks=tasks[order],
            ids=np.asarray(self.ids, np.int64)[order],
            scores=scores[order],
            outcomes=self._judged(tasks, scores)[order],
            values=self.values,
            reasons=self.reasons,
            metadata=self.metadata,
        )

    def _judged(self, tasks: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.int8]:
        shares = np.full(len(scores), np.nan)
        for code, measure in enumerate(self.measures.values()):
            rows = (tasks == code) & ~np.isnan(scores)
            marks = measure.marks(scores[rows])
            if marks is not None:
                shares[rows] = (scores[rows] - marks[0]) / (marks[1] - marks[0])
        outcomes: NDArray[np.int8] = judged(np.asarray(self.outcomes, np.int8), shares)
        return outcomes
