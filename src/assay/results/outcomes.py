"""The outcome of an attempt, in one word: the rule for the viewer, the tables of Python and the exports.

Whether a score is right depends on all scores of its task, so there are two steps: `outcome_of` for one line, `judged`
for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

OUTCOMES = (
    *("right", "partial", "wrong", "unparsed", "unscored"),
    *("excluded", "failed", "timeout", "scored"),
)
"""`unparsed`: no answer could be extracted from what the model wrote; `scored`: it has a number, and its task has no
right and wrong.
"""
RIGHT, PARTIAL, WRONG, UNPARSED, UNSCORED, EXCLUDED, FAILED, TIMEOUT, SCORED = range(len(OUTCOMES))


class Broken(Protocol):
    """As much of a `Failure` as says whose score is missing."""

    @property
    def kind(self) -> str: ...

    @property
    def scorer(self) -> str: ...


_B = TypeVar("_B", bound=Broken)


class _Read(Protocol):
    @property
    def extracted(self) -> bool: ...


class HasOutcome(Protocol):
    """As much of a `Record` as its outcome depends on."""

    @property
    def scores(self) -> Sequence[_Read]: ...

    @property
    def failures(self) -> Sequence[Broken]: ...

    @property
    def excluded(self) -> Sequence[str]: ...


def failures_of(scorer: str | None, failures: Sequence[_B]) -> Sequence[_B]:
    """The failures that keep an attempt out of a scorer's aggregates: its own, and those of the whole attempt.

    None stands for all scorers together, which lack something as soon as one of them does.
    """
    if not failures or scorer is None:
        return failures
    return [failure for failure in failures if failure.scorer in ("", scorer)]


def outcome_of(attempt: HasOutcome, score: float, scorer: str | None) -> int:
    """The outcome by the scorer of the task's score, as far as one line shows it; a missing score is NaN."""
    if attempt.excluded:
        return EXCLUDED
    if failures := failures_of(scorer, attempt.failures):
        return TIMEOUT if timed_out(failures) else FAILED
    if math.isnan(score):
        return UNSCORED
    return SCORED if all(part.extracted for part in attempt.scores) else UNPARSED


def timed_out(failures: Iterable[Broken]) -> bool:
    """Whether a failed attempt counts as a timeout."""
    return any(failure.kind == "timeout" for failure in failures)


def judged(outcomes: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[Any]:
    """The outcomes with right, partial and wrong separated, by where each score lies between wrong and right.

    An answer that could not be extracted stays `unparsed` rather than wrong.
    """
    result = outcomes.copy()
    scored = outcomes == SCORED
    result[scored & (shares <= 0.0)] = WRONG
    result[scored & (shares > 0.0)] = PARTIAL
    result[(scored | (outcomes == UNPARSED)) & (shares >= 1.0)] = RIGHT
    return result
