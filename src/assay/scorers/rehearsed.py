"""How a scorer can be tried without a model: a right answer, and replies its judge may give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from assay.core.types import Completion, Request, Sample, Score


@runtime_checkable
class KnowsGold(Protocol):
    """A scorer that knows an answer to a sample that gets full marks."""

    def gold(self, sample: Sample) -> Completion | None: ...


class Verdict(NamedTuple):
    """A reply that a judge may give, and the score values it leads to."""

    says: Callable[[Request], str]
    gives: Mapping[str, Any] | None
    """None for a reply that is not a verdict, and must fail."""


@runtime_checkable
class Judged(Protocol):
    """A scorer that calls another model."""

    def verdicts(self) -> Sequence[Verdict]:
        """One verdict of each kind that the model may give."""
        ...


MARKS = ("score", "is_correct", "bleu_score", "all_required_calls_made")
"""The values that are 1 when an answer is wholly right."""


def marks_of(score: Score) -> list[object]:
    return [score.values[name] for name in MARKS if name in score.values]


def is_full(mark: object) -> bool:
    return isinstance(mark, int | float) and mark >= 1 - 1e-9
