"""The number of an attempt, whether it is right, and which way is better: decided here for all callers.

It follows from the task's headline, its first aggregate. The leaderboard's counts, pairs, slices, rankings, the
viewer's outcomes, marks, progress and searches all use a `Measure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.core.errors import UsageError
from assay.core.types import PartSpec, ScoreValue, TaskDefinition
from assay.results.metric_label import score_labels
from assay.results.outcomes import Broken, failures_of
from assay.scorers.expected import judge_columns
from assay.stats.cells import interval_of_mean
from assay.stats.failure_bounds import Range, holds_all, range_of
from assay.stats.intervals import Floats, Interval, is_binary
from assay.stats.score_table import ScoreTable, as_text, is_answer

HEADLINES = ("score", "is_correct")
CLASSES = ("field_gt", "field_pred")
LIKELIHOODS = ("perplexity", "bits_per_byte")
"""Aggregates of texts' likelihoods; sample by sample they compare in bits per byte."""
FAULTS = {"rag_checker": ("noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant", "hallucination")}
"""By kind of scorer, the values where lower is better because they count errors."""


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
    """The value that is averaged; None takes `score`, else `is_correct`."""
    weights: dict[str, float] | None = None
    """The weight of each label of `field`, for tasks that average weights."""
    other: float | None = None
    """The weight of all other labels; None: they have no number."""
    same_as: tuple[str, str] | None = None
    """Two values whose agreement counts as right, for tasks that are scored as a classification."""
    answers: tuple[str, ...] = ()
    """The answers of a classification; an attempt with another one has no number. Empty: all count."""
    headline: bool = True
    """Whether the mean of this number is the task's leaderboard score."""
    lower_is_better: bool = False
    """As for perplexity or hallucinations."""
    bounds: Range | None = (0.0, 1.0)
    """The lowest and highest number possible; None when unknown."""
    scale: Range | None = None
    """The range for the interval of the mean, as passed to the aggregate; None: inferred from the values."""
    compared_with: frozenset[str] = frozenset()
    """The columns that judges are shown: where a sample has no targets, its answer is compared with those."""
    labels: dict[str, str] = {}
    """What a reader is shown for each scorer: its name, with its definition where the word alone has another."""

    def interval(self, numbers: Floats, clusters: ArrayLike | None, level: float) -> Interval:
        """The interval of the mean of these numbers, as the leaderboard would show it."""
        return interval_of_mean(numbers, clusters, level, self.scale)

    @property
    def column(self) -> str | None:
        """The value that is the number itself; None where the number is computed from values."""
        return self.field if self.weights is None else None

    @property
    def in_overall(self) -> bool:
        """Whether the mean counts in a mean over tasks."""
        return self.headline and not self.lower_is_better

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

    def of_values(self, values: Mapping[str, ScoreValue]) -> float | None:
        if self.same_as is not None:
            return self._agreement(*(values.get(name) for name in self.same_as))
        if self.field is not None:
            value = values.get(self.field)
            if self.weights is None:
                return _number(value)
            return None if value is None else self.weights.get(as_text(value), self.other)
        return next((_number(values[name]) for name in HEADLINES if name in values), None)

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

        Bounds that do not hold every number belong to another value; unknown bounds are (0, 1) when every number is one
        of the two.
        """
        if self.bounds is not None:
            known = self.bounds[0] < self.bounds[1] and holds_all(self.bounds, numbers)
            return (self.bounds[::-1] if self.lower_is_better else self.bounds) if known else None
        return (0.0, 1.0) if len(numbers) and is_binary(numbers) and not self.lower_is_better else None

    def correct(self, table: ScoreTable) -> int | None:
        """How many attempts have full marks; None where the task's score is not a mean of marks."""
        if not self.headline:
            return None
        numbers = self._numbers(table)
        marks = self.marks(numbers)
        return None if marks is None else int(((numbers - marks[0]) / (marks[1] - marks[0]) >= 1.0).sum())

    def _numbers(self, table: ScoreTable) -> Floats:
        """The number of every row that has one, from the columns."""
        if self.same_as is None and self.weights is None:
            return table.numbers(self.field or HEADLINES[0]).values
        names = self.same_as or (self.field or HEADLINES[0],)
        labels = table.labels(*names)
        if not len(labels):
            return np.empty(0)
        distinct, times = np.unique(labels.codes, axis=0, return_counts=True)
        numbers = [
            self.of_values(dict(zip(names, (labels.vocabulary[code] for code in row), strict=True))) for row in distinct
        ]
        known = [number is not None for number in numbers]
        return np.repeat([number for number in numbers if number is not None], times[known]).astype(np.float64)


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


def headline_of(definition: TaskDefinition) -> PartSpec | None:
    """The aggregate that is the task's score; None for a task without one, or that only lists shares of labels."""
    first = definition.aggregates[0] if definition.aggregates else None
    return None if first is None or (first.use == "frequency" and "label" not in first.options) else first


def measure_of(definition: TaskDefinition) -> Measure:
    """The measure behind a task's first aggregate; the default score where that is not a mean over samples."""
    columns = frozenset(name for scorer in definition.scorers for name in judge_columns(scorer.options))
    return msgspec.structs.replace(_first_aggregate(definition), compared_with=columns, labels=score_labels(definition))


def _first_aggregate(definition: TaskDefinition) -> Measure:  # noqa: PLR0911 - one for each kind of aggregate
    first = definition.aggregates[0] if definition.aggregates else None
    if first is None:
        return Measure(headline=False)
    names = {"field": "score", **first.options}
    for option in ("scorer", "field", *CLASSES):
        # a run file is untrusted
        if not isinstance(names.get(option, ""), str) and (option, names[option]) != ("scorer", None):
            raise UsageError(f"task `{definition.name}`: the aggregate `{first.key}`: `{option}` must be a name")
    scorer, field = names.get("scorer"), names["field"]
    if first.use == "mean":
        scale = first.options.get("bounds")
        return Measure(
            scorer=scorer,
            field=field,
            bounds=range_of(field, scale),
            scale=None if scale is None else (float(scale[0]), float(scale[1])),
            lower_is_better=bool(first.options.get("lower_is_better")) or _counts_faults(definition, scorer, field),
        )
    if first.use in ("binary-classification", "multiclass-classification"):
        return Measure(
            scorer=scorer, same_as=(names.get(CLASSES[0], ""), names.get(CLASSES[1], "")), answers=_answers(names)
        )
    if first.use == "frequency" and "label" in names:
        return Measure(scorer=scorer, field=field, weights={as_text(names["label"]): 1.0}, other=0.0)
    if first.use == "weighted_average":
        weights = _weights(definition, first)
        ends = min(weights.values()), max(weights.values())
        return Measure(scorer=scorer, field=field, weights=weights, bounds=ends, scale=ends)
    if first.use in LIKELIHOODS:
        return Measure(scorer=scorer, field="bits_per_byte", headline=False, lower_is_better=True, bounds=None)
    return Measure(scorer=scorer, headline=False, lower_is_better=bool(first.options.get("lower_is_better")))


def measures_of(definitions: Iterable[TaskDefinition]) -> dict[str, Measure]:
    """By task."""
    return {definition.name: measure_of(definition) for definition in definitions}


def _counts_faults(definition: TaskDefinition, scorer: str | None, field: str) -> bool:
    return any(field in FAULTS.get(part.use, ()) for part in definition.scorers if scorer in (None, part.key))


def _answers(options: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(as_text(options[name]) for name in ("positive_answer", "negative_answer") if name in options)


def _weights(definition: TaskDefinition, part: PartSpec) -> dict[str, float]:
    try:
        return {as_text(label): float(weight) for label, weight in part.options["weights"].items()} or {"": 0.0}
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError) as error:
        message = f"task `{definition.name}`: the aggregate `{part.key}`: `weights` must be numbers by label"
        raise UsageError(message) from error


def _number(value: ScoreValue) -> float | None:
    if type(value) is float:  # the usual case
        return value
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None  # too large for a float
