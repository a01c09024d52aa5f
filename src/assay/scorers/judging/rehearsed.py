"""How a scorer can be tried without a model: a right answer, replies its judge may give, the tests of its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from msgspec import Struct

from assay.core.seams import Preparable
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


class TestProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with the test of a sample, whatever the answer is."""

    __test__ = False  # pytest must not collect it

    problem: str
    """A failure kind, or the word for a remark."""
    detail: str
    refused: bool
    """Whether every attempt at the sample is a failure; otherwise it is a remark."""
    test: str
    """Identifies the test by its content."""


@runtime_checkable
class RehearsesTests(Preparable, Protocol):
    """A scorer whose samples have tests of their own, which can be broken."""

    async def rehearse_test(self, sample: Sample) -> TestProblem | None:
        """Try the test of a sample without an answer; None when it is sound. Remembered for when it is scored."""
        ...

    def recall_tests(self, problems: Iterable[TestProblem]) -> None:
        """Take over what was found before, of all samples that will come: all other tests are sound."""
        ...


MARKS = ("score", "is_correct", "bleu_score", "all_required_calls_made")
"""The values that are 1 when an answer is wholly right."""


def marks_of(score: Score) -> list[object]:
    return [score.values[name] for name in MARKS if name in score.values]


def is_full(mark: object) -> bool:
    return isinstance(mark, int | float) and mark >= 1 - 1e-9
