"""What a scorer may offer for trying it without a model: a right answer, and what its judge may say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from assay.core.types import Completion, Request, Sample, Score


@runtime_checkable
class KnowsGold(Protocol):
    """A scorer that knows an answer to a sample that gets full marks."""

    def gold(self, sample: Sample) -> Completion | None: ...


class Verdict(NamedTuple):
    """What a judge may say, and the score values that it comes to."""

    says: Callable[[Request], str]
    gives: Mapping[str, Any] | None
    """None for an answer that is not a verdict, and must fail."""


@runtime_checkable
class Judged(Protocol):
    """A scorer that asks another model."""

    def verdicts(self) -> Sequence[Verdict]:
        """What that may say: one verdict of each kind."""
        ...


MARKS = ("score", "is_correct", "bleu_score", "all_required_calls_made")
"""The values that are 1 when an answer is wholly right."""


def marks_of(score: Score) -> list[object]:
    return [score.values[name] for name in MARKS if name in score.values]


def is_full(mark: object) -> bool:
    return isinstance(mark, int | float) and mark >= 1 - 1e-9
