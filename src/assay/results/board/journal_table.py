"""One pass over a journal: per task the columns that tables and aggregates need, keeping only scores in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from assay.core.describe import Range
from assay.core.fingerprint import canonical_json
from assay.core.journal import counting_lines
from assay.core.types import Score, TaskDefinition, Usage
from assay.costs.spending import Spending, add_line
from assay.results.board.amounts import Latencies
from assay.results.board.likelihood import LikelihoodFields, RawCompletion, values_of
from assay.results.board.slices import MOST, NO_VALUE
from assay.results.board.stretches import NAMED_IN_ANSWERS
from assay.results.board.weak_passes import grade_of, is_weak_pass
from assay.results.measure import Measure, measure_of, values_by
from assay.results.outcomes import failures_of, timed_out
from assay.results.report_settings import View, keys_in, metadata_value
from assay.stats.score_table import ScoreTable
from assay.tasks.descriptions import described_ranges

DIGEST_BITS = 128
DIGEST_MASK = (1 << DIGEST_BITS) - 1
_DIGEST = blake2b(digest_size=DIGEST_BITS // 8)
"""Copied for every line: creating a new one takes twice as long."""
NUMBER = (int, float)


Place = Annotated[int, Meta(ge=0, lt=1 << 32)]
"""The number of a sample or an attempt: limited to what a column holds."""


class _Completion(LikelihoodFields, gc=False):
    """The few fields of a completion that tables count."""

    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cut: int = 0
    cached: bool = False
    from_earlier_run: bool = False
    tool_calls: Any = None


class TraceLine(Struct, gc=False):
    """As much of a trace as tables need."""

    prediction: str
    completions: list[_Completion] = []


class _Failure(Struct):
    stage: str
    kind: str
    message: str = ""
    scorer: str = ""


class ScoredLine(Struct, gc=False):
    """A journal line as far as its scores; the rest is skipped by the decoder."""

    key: str
    task: str
    sample_id: str
    index: Place
    attempt: Place = 1
    metadata: dict[str, Any] = {}
    scores: tuple[Score, ...] = ()
    failures: list[_Failure] = []
    excluded: list[str] = []


class AttemptLine(ScoredLine, gc=False):
    """A journal line as far as tables need it."""

    trace: TraceLine | None = None
    seconds: float = 0.0
    usage: list[Usage] = []
    continued: bool = False
    asked_again: dict[str, int] = {}


_L = TypeVar("_L", bound=AttemptLine)


@dataclass(slots=True)
class TaskTable:
    """What the journal holds about one task."""

    tables: dict[str | None, ScoreTable]
    """By scorer key, for each that an aggregate reads; None stands for all scorers."""
    scored: int = 0
    """Attempts with every score."""
    failed: int = 0
    """Attempts that lack a score because something failed, unless it was a timeout."""
    timeouts: int = 0
    partly: int = 0
    """Those of them that have a score of another scorer."""
    missing_scores: Counter[str] = field(default_factory=Counter)
    """By scorer, the attempts without its score because it failed."""
    asked_again: Counter[str] = field(default_factory=Counter)
    """By scorer, how often its judge was called again because its verdict was unusable."""
    excluded: int = 0
    truncated: int = 0
    prompts_cut: int = 0
    """Attempts with a prompt that was cut to fit the model's context."""
    nothing_extracted: int = 0
    unasked: int = 0
    """Attempts with an answer for which the evaluated model was not called."""
    without_logprobs: int = 0
    """Attempts at which it was called, and gave no log-probability."""
    measure: Measure = field(default_factory=Measure)
    spent: Spending = field(default_factory=Spending)
    judges: dict[str, Spending] = field(default_factory=dict)
    """Per judge, or other model that the task calls in addition to the evaluated one."""
    latencies: Latencies = field(default_factory=Latencies)
    failure_kinds: Counter[str] = field(default_factory=Counter)
    failure_example: dict[str, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    """How often each code outcome occurred, for scorers that report one."""
    weak_passes: int | None = None
    """Attempts with marks that are graded weak; None while nothing was graded."""
    digest: int = 0
    """Order-independent: the sum of the digests of all attempts that count."""
    likelihoods: ScoreTable = field(default_factory=ScoreTable)
    """Values that `results/board/likelihood.py` computed from log-probabilities, a row per attempt that has any."""
    slices: dict[str, dict[str, ScoreTable]] = field(default_factory=dict)
    """Metadata key -> its value -> the scores of those samples, for the task's first aggregate."""
    answered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often answers name each model or `system_fingerprint`, where they do."""
    too_many: set[str] = field(default_factory=set)
    """Metadata keys with too many values to be slices."""
    other_keys: dict[str, None] = field(default_factory=dict)
    """Keys that samples have instead of one to slice by, for whoever misspelt it."""

    def add(self, line: AttemptLine, view: View) -> None:
        self.latencies.add(line.seconds)
        has_logprobs = False
        if line.trace is not None:
            self.unasked += not line.trace.completions
            truncated = cut = False
            for completion in line.trace.completions:
                truncated |= completion.finish_reason == "length"
                cut |= completion.cut > 0
                has_logprobs |= completion.logprob is not None or bool(completion.logprobs)
                if completion.raw is not None:
                    self._count_signs(completion.raw)
            self.truncated += truncated
            self.prompts_cut += cut
            self.without_logprobs += bool(line.trace.completions) and not has_logprobs
        self.digest = (self.digest + _digest(line)) & DIGEST_MASK
        if line.asked_again:
            self.asked_again.update(line.asked_again)
        if line.excluded:
            self.excluded += 1
        elif not line.failures or self._is_partly_scored(line.failures, line.scores):
            stated = self._count_scores(line)
            if has_logprobs or stated is not None:
                self._add_likelihoods(line, stated, view)
        for scorer, table in self.tables.items():
            _fill(table, line, scorer, view.group_by)
        for key in view.by:
            self._add_slice(key, line, view)

    def _count_signs(self, raw: RawCompletion) -> None:
        for name, value in zip(NAMED_IN_ANSWERS, (raw.model, raw.system_fingerprint), strict=True):
            if isinstance(value, str):
                self.answered[name, value] += 1

    def _is_partly_scored(self, failures: list[_Failure], scores: Sequence[Score]) -> bool:
        """Count an attempt that lacks a score, and return whether others of it are in the aggregates."""
        self._count_failure(failures)
        self.missing_scores.update(failure.scorer for failure in failures if failure.scorer)
        partly = bool(scores) and all(failure.scorer for failure in failures)
        self.partly += partly
        return partly

    def _count_scores(self, line: AttemptLine) -> float | None:
        """Count the scores of an attempt that is in the aggregates; return the confidence that it states, if any."""
        self.scored += not line.failures
        graded = weak = False
        stated = None
        for score in line.scores:
            values = score.values
            if not score.extracted:
                self.nothing_extracted += 1
            # most scores have neither, and a million lookups are slow
            if "outcome" in values and isinstance(outcome := values["outcome"], str):
                self.outcomes[outcome] += 1
                graded |= grade_of(values, score.metadata) is not None
                weak |= is_weak_pass(values, score.metadata)
            if "confidence" in values and stated is None and isinstance(confidence := values["confidence"], NUMBER):
                stated = float(confidence)
        if graded:
            self.weak_passes = (self.weak_passes or 0) + weak
        return stated

    def _add_likelihoods(self, line: AttemptLine, stated: float | None, view: View) -> None:
        if line.trace is None:
            return
        values = values_of(line.trace.completions, line.trace.prediction, stated, self.measure.of(line))
        if values:
            group = metadata_value(line.metadata, view.group_by)
            self.likelihoods.add(values, sample=line.index, attempt=line.attempt, group=group)

    def _add_slice(self, key: str, line: AttemptLine, view: View) -> None:
        if key in self.too_many:
            return
        tables = self.slices.setdefault(key, {})
        value = metadata_value(line.metadata, key)
        if value is None and len(self.other_keys) < MOST:
            self.other_keys.update(dict.fromkeys(keys_in(line.metadata)))
        name = NO_VALUE if value is None else value
        if name not in tables and len(tables) >= MOST:
            self.too_many.add(key)
            del self.slices[key]
            return
        if name not in tables:
            tables[name] = ScoreTable(self.tables[self.measure.scorer].ranges)
        _fill(tables[name], line, self.measure.scorer, view.group_by)

    def _count_failure(self, failures: list[_Failure]) -> None:
        if timed_out(failures):
            self.timeouts += 1
        else:
            self.failed += 1
        kind = f"{failures[0].stage}/{failures[0].kind}"
        self.failure_kinds[kind] += 1
        self.failure_example.setdefault(kind, failures[0].message)


def read_tables(
    path: Path,
    definitions: Iterable[TaskDefinition],
    view: View | None = None,
    *,
    kind: type[_L] = AttemptLine,  # type: ignore[assignment]  # a default cannot be narrower than what may be given
    watch: Callable[[int, _L], object] | None = None,
    only: Callable[[_L], bool] | None = None,
) -> dict[str, TaskTable]:
    """The tables of every task, from the lines that count; spending, from all lines.

    `watch` is called with every line that counts and its place, for callers that also need the journal.
    `only` selects lines: the others are ignored.
    """
    view = view or View()
    tasks = {definition.name: empty_table(definition) for definition in definitions}

    def count_failed(line: AttemptLine) -> None:
        if (table := tasks.get(line.task)) is not None:
            add_line(line, table.spent, table.judges)

    for place, line in counting_lines(path, kind, count_failed):
        table = tasks.get(line.task)
        if table is None:
            continue
        if not line.failures:
            add_line(line, table.spent, table.judges)
        if only is not None and not only(line):
            continue
        table.add(line, view)
        if watch is not None:
            watch(place, line)
    return tasks


def empty_table(definition: TaskDefinition) -> TaskTable:
    """The table of a task before anything is in it."""
    measure = measure_of(definition)
    scorers = {part.options.get("scorer") for part in definition.aggregates}
    return TaskTable({scorer: ScoreTable(_ranges(definition, measure, scorer)) for scorer in scorers}, measure=measure)


def _ranges(definition: TaskDefinition, measure: Measure, scorer: str | None) -> dict[str, Range]:
    """What a scorer's values can be, as it says, or as the task says of its score."""
    ranges = described_ranges(definition.scorers, scorer)
    if scorer == measure.scorer and measure.column is not None and measure.bounds is not None:
        ranges[measure.column] = measure.bounds
    return ranges


def _fill(table: ScoreTable, line: AttemptLine, scorer: str | None, group_by: str) -> None:
    """An attempt counts once in the aggregates of a scorer: excluded, failed, or scored, whichever comes first."""
    if line.excluded:
        table.add_excluded()
        return
    group = metadata_value(line.metadata, group_by) if line.metadata else None
    if failures := failures_of(scorer, line.failures):
        table.add_failure(timeout=timed_out(failures), sample=line.index, attempt=line.attempt, group=group)
    elif values := values_by(scorer, line.scores):
        table.add(values, sample=line.index, attempt=line.attempt, group=group)


def _digest(line: AttemptLine) -> int:
    """The attempt's outcome, without how long it took."""
    prediction = line.trace.prediction if line.trace is not None else None
    kinds = [failure.kind for failure in line.failures] if line.failures else []
    if len(scores := line.scores) == 1:  # the usual case: no loop is faster
        values = [(scores[0].name, scores[0].values)]
    else:
        values = [(score.name, score.values) for score in scores]
    digest = _DIGEST.copy()
    digest.update(canonical_json((line.key, prediction, values, kinds)))
    return int.from_bytes(digest.digest(), "big")
