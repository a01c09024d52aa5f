"""Claims about a margin: worse by no more than it, and the same within it.

Both use the interval of the difference whose ends such a claim may rest on. "The same" is two one-sided tests
(Schuirmann 1987): the interval at the report's level lies within the margin on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from assay.stats.families import correct
from assay.stats.guarded import spread_of
from assay.stats.intervals import Interval
from assay.stats.paired_evidence import AnswerPairs, Basis, GuardedPairs, PairedEvidence
from assay.stats.search import smallest
from assay.text.numbers import number

GateOutcome = Literal["met", "not met", "cannot tell"]


class NonInferiority(Struct, frozen=True, kw_only=True):
    """Whether the second run is worse than the first by no more than a margin."""

    margin: float
    low: float | None
    """The lower end of the interval of the difference."""
    high: float | None
    level: float
    outcome: GateOutcome
    """`met` when the whole interval lies above −margin, `not met` when it all lies below."""


def non_inferiority(interval: Interval, margin: float) -> NonInferiority:
    """Judge the interval of a paired difference, of right/wrong answers or other scores, clustered or not.

    With the `margin_interval` of a comparison, a drop beyond the margin passes with a chance of about
    (1 − level)/2.
    """
    if not margin >= 0.0:
        raise ValueError(f"margin must be 0 or more, got {margin}")
    outcome: GateOutcome = "cannot tell"
    if interval.low is not None and interval.low >= -margin:
        outcome = "met"
    elif interval.high is not None and interval.high < -margin:
        outcome = "not met"
    return NonInferiority(margin=margin, low=interval.low, high=interval.high, level=interval.level, outcome=outcome)


class Sameness(Struct, frozen=True, kw_only=True):
    """Whether two results are the same within a margin; one of several such claims, corrected by Holm."""

    margin: float
    same: bool
    interval: Interval
    """Lies within the margin if and only if the two are the same."""
    p_value: float
    """1 − the highest level at which the interval lies within the margin."""
    adjusted_p: float
    comparisons: int
    basis: Basis


def same_within(evidence: Sequence[PairedEvidence], margin: float, level: float) -> list[Sameness]:
    """Whether each difference of a report is less than a margin either way: a family of claims of their own."""
    if not margin > 0.0:
        raise ValueError(f"margin must be more than 0, got {margin}")
    family = correct([_p_within(each, margin) for each in evidence], level)
    return [
        Sameness(
            margin=margin,
            same=corrected.significant,
            interval=each.margin_interval(corrected.level),
            p_value=corrected.p_value,
            adjusted_p=corrected.adjusted_p,
            comparisons=corrected.comparisons,
            basis=Basis(
                level=level,
                comparisons=corrected.comparisons,
                correction=corrected.correction,
                method=f"{each.method}, on both sides of the margin",
                assumes=each.assumes,
                would_change="a smaller margin" if corrected.significant else "more samples, or a larger margin",
            ),
        )
        for each, corrected in zip(evidence, family, strict=True)
    ]


def smallest_margin(units: int, level: float, largest_loss: float | None = None) -> float | None:
    """The smallest margin that so many samples, or groups, can show a drop to be within, even if no score changes.

    None where there is none. It is that of right/wrong answers or of graded scores, whichever is larger; of graded
    scores alone where the largest loss is declared.
    """
    if units < 2:
        return None
    unchanged = spread_of(np.zeros(units))
    graded = GuardedPairs(unchanged, had=unchanged, reach=largest_loss or 1.0)
    kinds = [graded] if largest_loss is not None else [AnswerPairs(0, 0, units, right=units), graded]
    return max(-(kind.margin_interval(level).low or 0.0) for kind in kinds)


def out_of_reach(margin: float, reachable: float | None, samples: str) -> str | None:
    """Why a claim of no drop beyond a margin can never be shown; None where it can."""
    if reachable is None:
        return f"with {samples} no drop can be ruled out"
    if margin >= reachable:
        return None
    return (
        f"even if no score changes, {samples} rule out no drop below {number(reachable)}: "
        f"use that margin or a larger one than {margin:g}, or more samples"
    )


def _p_within(evidence: PairedEvidence, margin: float) -> float:
    def within(alpha: float) -> bool:
        interval = evidence.margin_interval(1.0 - alpha)
        return (
            interval.low is not None
            and interval.high is not None
            and -margin <= interval.low
            and interval.high <= margin
        )

    return smallest(lambda alpha: alpha > 0.0 and within(alpha), 1.0 - 1e-9) or 1.0
