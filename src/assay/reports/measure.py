"""Which number of an attempt its task is about: what pairs, slices and rankings compare, sample by sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from assay.core.errors import UsageError
from assay.core.types import ScoreValue, TaskDefinition
from assay.stats.failure_bounds import Range, range_of
from assay.stats.score_table import as_text

HEADLINES = ("score", "is_correct")
CLASSES = ("field_gt", "field_pred")
LIKELIHOODS = ("perplexity", "bits_per_byte")
"""Aggregates of texts' likelihoods; sample by sample they compare in bits per byte."""


class Scored(Protocol):
    """As much of a `Score` as a measure looks at."""

    @property
    def name(self) -> str: ...

    @property
    def values(self) -> dict[str, ScoreValue]: ...


class Measure(Struct, frozen=True, kw_only=True):
    """How an attempt's scores become one number, the one that the task's leaderboard score averages."""

    scorer: str | None = None
    field: str | None = None
    """The value that is averaged; None takes `score`, else `is_correct`."""
    same_as: tuple[str, str] | None = None
    """Two values whose agreement counts as right, for tasks that are scored as a classification."""
    headline: bool = True
    """Whether the mean of this number is the task's leaderboard score."""
    lower_is_better: bool = False
    """Perplexity and its kin: what goes down got better."""
    bounds: Range | None = (0.0, 1.0)
    """What a wrong attempt scores, and a right one; None when nobody knows."""

    def of(self, scores: Sequence[Scored]) -> float | None:
        """The number, or None when the attempt has none."""
        return self.of_values(values_by(self.scorer, scores))

    def of_values(self, values: Mapping[str, ScoreValue]) -> float | None:
        if self.same_as is not None:
            truth, said = (values.get(name) for name in self.same_as)
            return None if truth is None or said is None else float(as_text(truth) == as_text(said))
        if self.field is not None:
            return _number(values.get(self.field))
        for name in HEADLINES:
            if name in values:
                return _number(values[name])
        return None


def values_by(scorer: str | None, scores: Sequence[Scored]) -> dict[str, ScoreValue]:
    """The values of one scorer, or of whichever there are."""
    if len(scores) == 1:  # as nearly always; a million times there is no need for a copy
        return scores[0].values if scorer is None or scores[0].name == scorer else {}
    return {
        name: value
        for score in scores
        if scorer is None or score.name == scorer
        for name, value in score.values.items()
    }


def measure_of(definition: TaskDefinition) -> Measure:
    """The measure behind a task's first aggregate; for one that is no mean over samples, the usual score."""
    first = definition.aggregates[0] if definition.aggregates else None
    if first is None:
        return Measure(headline=False)
    names = {"field": "score", **first.options}
    for option in ("scorer", "field", *CLASSES):
        # a run file is anybody's
        if not isinstance(names.get(option, ""), str) and (option, names[option]) != ("scorer", None):
            raise UsageError(f"task `{definition.name}`: the aggregate `{first.key}`: `{option}` must be a name")
    scorer = names.get("scorer")
    if first.use == "mean":
        field = names["field"]
        return Measure(scorer=scorer, field=field, bounds=range_of(field, first.options.get("bounds")))
    if first.use in ("binary-classification", "multiclass-classification"):
        return Measure(scorer=scorer, same_as=(names.get(CLASSES[0], ""), names.get(CLASSES[1], "")))
    if first.use in LIKELIHOODS:
        return Measure(scorer=scorer, field="bits_per_byte", headline=False, lower_is_better=True, bounds=None)
    return Measure(scorer=scorer, headline=False)


def _number(value: ScoreValue) -> float | None:
    return float(value) if isinstance(value, int | float) else None
