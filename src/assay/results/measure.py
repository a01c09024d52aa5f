"""The number of an attempt, whether it is right, and which way is better: decided here for all callers.

It follows from what the task's headline, its first aggregate, says that it averages, as the run recorded it. The
leaderboard's counts, pairs, slices, rankings, the viewer's outcomes, marks, progress and searches all use a `Measure`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.catalog import is_ours
from assay.core.describe import Mean, Range, Shares, Whole
from assay.core.errors import UsageError
from assay.core.types import PartSpec, ScoreValue, TaskDefinition
from assay.results.metric_label import score_labels
from assay.results.outcomes import Broken, failures_of
from assay.scorers.expected import judge_columns
from assay.stats.cells import interval_of_mean
from assay.stats.failure_bounds import holds_all
from assay.stats.intervals import Floats, Interval
from assay.stats.score_table import ScoreTable, as_text, is_answer
from assay.stats.sums import names_in, number_of
from assay.task_records import MadeOf


class NamedScore(Protocol):
    """As much of a `Score` as a measure needs."""

    @property
    def name(self) -> str: ...

    @property
    def values(self) -> dict[str, ScoreValue]: ...


class HasScores(Protocol):
    """As much of a `Record` as a measure needs."""

    @property
    def scores(self) -> Sequence[NamedScore]: ...

    @property
    def failures(self) -> Sequence[Broken]: ...

    @property
    def excluded(self) -> Sized: ...


def counts(attempt: HasScores, scorer: str | None) -> bool:
    """Whether an attempt is in the aggregates of a scorer: its score is there, and no rule of the task excludes it."""
    return not attempt.excluded and not failures_of(scorer, attempt.failures)


class Measure(Struct, frozen=True, kw_only=True):
    """How an attempt's scores become one number, the one that the task's leaderboard score averages."""

    scorer: str | None = None
    field: str | None = None
    """The value that is averaged; None: attempts have no number."""
    weights: dict[str, float] | None = None
    """The weight of each label of `field`, for tasks that average weights."""
    other: float | None = None
    """The weight of all other labels; None: they have no number."""
    same_as: tuple[str, str] | None = None
    """Two values whose agreement counts as right, for tasks that are scored as a classification."""
    answers: tuple[str, ...] = ()
    """The answers of a classification; an attempt with another one has no number. Empty: all count."""
    headline: bool = False
    """Whether the mean of this number is the task's leaderboard score."""
    lower_is_better: bool | None = False
    """As for perplexity or hallucinations; None: neither is better."""
    bounds: Range | None = None
    """The lowest and highest number possible; None when unknown."""
    score_bounds: Range | None = None
    """Those of the task's score, which a mean has in common with its numbers."""
    made_of: MadeOf | None = None
    """What the score is computed from, where that is known and it is no mean: differences are then tested by it."""
    redrawn: bool = False
    """Whether only its own code computes the score: differences are tested by what it gave over resamples."""
    untested: str | None = None
    """Why nothing is concluded from differences of this number; None where they are tested."""
    compared_with: frozenset[str] = frozenset()
    """The columns that judges are shown: where a sample has no targets, its answer is compared with those."""
    labels: dict[str, str] = {}
    """What a reader is shown for each scorer: its name, with its definition where the word alone has another."""

    def on(self, scale: Range | None) -> Measure:
        """With the scale that the values of a run have by their type, where nothing describes them."""
        if scale is None or self.bounds is not None or not self.headline or self.column is None:
            return self
        return msgspec.structs.replace(self, bounds=scale, score_bounds=scale)

    def interval(self, numbers: Floats, clusters: ArrayLike | None, level: float) -> Interval:
        """The interval of the mean of these numbers, as the leaderboard would show it."""
        return interval_of_mean(numbers, clusters, level, self.bounds)

    @property
    def column(self) -> str | None:
        """The value that is the number itself; None where the number is computed from values."""
        return self.field if self.weights is None else None

    @property
    def proxy(self) -> str | None:
        """The number that stands for the score in tests, where the score is not its mean."""
        return None if self.headline else self.field

    @property
    def needs_every_label(self) -> bool:
        """Whether there is no mean at all as soon as one attempt's label has no weight."""
        return self.weights is not None and self.other is None

    def is_in_mean(self, mean: float | None) -> bool:
        """Whether attempts' numbers count in the task's mean; weights of labels count all or not at all."""
        return mean is not None or not self.needs_every_label

    def of(self, attempt: HasScores) -> float | None:
        """The number; None when the attempt has none or is not in the aggregates."""
        return self.of_values(values_by(self.scorer, attempt.scores)) if counts(attempt, self.scorer) else None

    def addends(self, attempt: HasScores) -> list[float] | None:
        """The attempt's part in what the score is computed from; None when it has none, or lacks a number of it."""
        if self.made_of is None or not counts(attempt, self.scorer):
            return None
        return addends_of(self.made_of, values_by(self.scorer, attempt.scores))

    def of_values(self, values: Mapping[str, ScoreValue]) -> float | None:
        if self.same_as is not None:
            return self._agreement(*(values.get(name) for name in self.same_as))
        if self.field is not None:
            value = values.get(self.field)
            if self.weights is None:
                return _number(value)
            return None if value is None else self.weights.get(as_text(value), self.other)
        return None

    def _agreement(self, truth: ScoreValue, prediction: ScoreValue) -> float | None:
        if truth is None or prediction is None:
            return None
        texts = as_text(truth), as_text(prediction)
        if not self.answers:
            return float(texts[0] == texts[1])
        if not all(any(is_answer(text, answer) for answer in self.answers) for text in texts):
            return None
        return float(is_answer(texts[0], self.answers[0]) == is_answer(texts[1], self.answers[0]))

    def upwards(self, number: float | None) -> float | None:
        """The number, negated where lower is better, so that higher always is."""
        return -number if number is not None and self.lower_is_better else number

    @property
    def upward_bounds(self) -> Range | None:
        """The bounds of `upwards`: the number of a wrong attempt, and of a right one."""
        return (-self.bounds[1], -self.bounds[0]) if self.bounds is not None and self.lower_is_better else self.bounds

    def marks(self, numbers: Floats) -> Range | None:
        """The numbers of a wrong and of a right attempt, given all the task's numbers; None where there are none such.

        Bounds that do not hold every number belong to another value.
        """
        if self.bounds is None or self.lower_is_better is None or not self.bounds[0] < self.bounds[1]:
            return None
        if not holds_all(self.bounds, numbers):
            return None
        return self.bounds[::-1] if self.lower_is_better else self.bounds

    def misdescribed(self, table: ScoreTable, score: float | None) -> str | None:
        """How these scores differ from what the task's score says of itself; None where they do not."""
        if not self.headline:
            return None if self.made_of is None else _other_than_made(self.made_of, table, score)
        numbers = self._numbers(table)
        if not len(numbers):
            return None
        if self.bounds is not None and not holds_all(self.bounds, numbers):
            low, high = self.bounds
            return f"some of its numbers lie outside of the range that they are said to have, {low:g} to {high:g}"
        if score is None:
            return "there is no score, although attempts have numbers"
        if not math.isclose(mean := float(numbers.mean()), score, rel_tol=1e-9, abs_tol=1e-12):
            return f"its score, {score:.6g}, is not the mean that it is said to be ({mean:.6g})"
        return None

    def correct(self, table: ScoreTable) -> int | None:
        """How many attempts have full marks; None where the task's score is not a mean of marks."""
        if not self.headline:
            return None
        numbers = self._numbers(table)
        marks = self.marks(numbers)
        return None if marks is None else int(((numbers - marks[0]) / (marks[1] - marks[0]) >= 1.0).sum())

    def _numbers(self, table: ScoreTable) -> Floats:
        """The number of every row that has one, from the columns."""
        if self.same_as is None and self.field is None:
            return np.empty(0)
        if self.same_as is None and self.weights is None:
            return table.numbers(str(self.field)).values
        names = self.same_as or (str(self.field),)
        labels = table.labels(*names)
        if not len(labels):
            return np.empty(0)
        distinct, times = np.unique(labels.codes, axis=0, return_counts=True)
        numbers = [
            self.of_values(dict(zip(names, (labels.vocabulary[code] for code in row), strict=True))) for row in distinct
        ]
        known = [number is not None for number in numbers]
        return np.repeat([number for number in numbers if number is not None], times[known]).astype(np.float64)


def addends_of(made_of: MadeOf, values: Mapping[str, ScoreValue]) -> list[float] | None:
    """The values of one attempt that the score is computed from; None where one is not a number."""
    numbers = [_number(values.get(name)) for name in names_in(made_of)]
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    return known if len(known) == len(numbers) else None


def _other_than_made(made_of: MadeOf, table: ScoreTable, score: float | None) -> str | None:
    rows = table.numbers(*names_in(made_of)).rows
    made = number_of(made_of, rows) if len(rows) else math.nan
    if score is None or math.isnan(made) or math.isclose(made, score, rel_tol=1e-9, abs_tol=1e-12):
        return None
    return f"its score, {score:.6g}, is not what it is said to be made of ({made:.6g})"


def share_of_marks(number: float, marks: Range | None) -> float | None:
    """Where a number lies between wrong (0) and right (1); None where there is no right and wrong."""
    return None if marks is None else (number - marks[0]) / (marks[1] - marks[0])


def values_by(scorer: str | None, scores: Sequence[NamedScore]) -> dict[str, ScoreValue]:
    """The values of one scorer; None stands for all of them."""
    if len(scores) == 1:  # the usual case: avoids a million copies
        return scores[0].values if scorer is None or scores[0].name == scorer else {}
    return {
        name: value
        for score in scores
        if scorer is None or score.name == scorer
        for name, value in score.values.items()
    }


def runs_code(part: PartSpec) -> bool:
    """Whether an aggregate is computed by code that is not ours: a snippet, another program's, a third-party part."""
    return is_own_object(part) or (isinstance(part.about, Whole) and part.about.runs != "here")


def is_own_object(part: PartSpec) -> bool:
    """Whether an aggregate is a Python object that is not ours."""
    return not is_ours("aggregate", part.use)


def headline_of(definition: TaskDefinition) -> PartSpec | None:
    """The aggregate that is the task's score; None for a task without one, or that only lists shares of labels."""
    first = definition.aggregates[0] if definition.aggregates else None
    return None if first is None or isinstance(first.about, Shares) else first


def measure_of(definition: TaskDefinition) -> Measure:
    """The measure behind a task's first aggregate, as it described itself when the task was built."""
    columns = frozenset(name for scorer in definition.scorers for name in judge_columns(scorer.options))
    first = headline_of(definition)
    measure = (
        Measure(untested=NO_SCORE) if first is None else described_measure(first, definition.name, definition.metric)
    )
    return msgspec.structs.replace(measure, compared_with=columns, labels=score_labels(definition))


def described_measure(part: PartSpec, task: str, metric: str = "score") -> Measure:
    """How an aggregate with a description makes its number; `metric` is what the task calls that."""
    scorer = part.options.get("scorer")
    if scorer is not None and not isinstance(scorer, str):  # a run file is untrusted
        raise UsageError(f"task `{task}`: the aggregate `{part.key}`: `scorer` must be a name")
    match part.about:
        case Mean(value=value):
            return Measure(
                scorer=scorer,
                field=value.name if part.about.same_as is None else None,
                weights=part.about.weights,
                other=part.about.other,
                same_as=part.about.same_as,
                answers=part.about.answers,
                headline=True,
                lower_is_better=value.lower_is_better,
                bounds=value.range,
                score_bounds=value.range,
                untested=_undirected(value.name) if value.lower_is_better is None else None,
            )
        case Whole(proxy=proxy) as whole:
            made_of = None if whole.made_of is None else msgspec.structs.replace(whole.made_of, scorer=scorer)
            redrawn = whole.smooth and made_of is None and proxy is None and runs_code(part)
            testable = proxy is not None or made_of is not None or redrawn
            untested = None if testable else f"{part.use} is no mean over samples"
            return Measure(
                scorer=scorer,
                field=None if proxy is None else proxy.name,
                lower_is_better=whole.lower_is_better,
                bounds=None if proxy is None else proxy.range,
                score_bounds=whole.range,
                made_of=None if whole.lower_is_better is None else made_of,
                redrawn=redrawn and whole.lower_is_better is not None,
                untested=_undirected(metric) if whole.lower_is_better is None else untested,
            )
    raise UsageError(f"task `{task}`: the aggregate `{part.key}` does not say what it is")


NO_SCORE = "the task has no score"


def _undirected(name: str) -> str:
    return f"neither a higher nor a lower {name} is known to be better"


def measures_of(definitions: Iterable[TaskDefinition]) -> dict[str, Measure]:
    """By task."""
    return {definition.name: measure_of(definition) for definition in definitions}


def _number(value: ScoreValue) -> float | None:
    if type(value) is float:  # the usual case
        return value
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None  # too large for a float
