"""Evidence from replicates: two numbers computed again over the same resamples of their samples, and subtracted.

For numbers that no formula of ours makes of the samples: a quantile, or what only its author's code can compute.
"""

from __future__ import annotations

import math
from statistics import stdev
from typing import ClassVar

from assay.overriding import override
from assay.stats.bootstrap import expanded_tails
from assay.stats.guarded import SkewedT
from assay.stats.intervals import Interval, check_level, no_interval
from assay.stats.paired_evidence import PairedEvidence, minimum_detectable_effect
from assay.stats.quantiles import normal_quantile, student_t_tail

REPLICATES = "replicates"


class ReplicatePairs(PairedEvidence, frozen=True, tag=REPLICATES):
    """The differences of two numbers over resamples that both were computed over, with the tails of few units."""

    method: ClassVar[str] = "resamples that both scores were computed over"
    assumes: ClassVar[str] = (
        "samples, or groups of them, are independent of each other and stand for the questions that one cares about; "
        "the score hangs on many of them"
    )

    seen: float
    draws: tuple[float, ...]
    """In order."""
    units: int
    first: float
    """The first's number, which could be lost."""

    @property
    def spread(self) -> SkewedT:
        """Of the difference, as the mean over several tasks needs it."""
        return SkewedT(mean=self.seen, error=self._error, skew=0.0, units=self.units, degrees=self.units - 1.0)

    @property
    @override
    def difference(self) -> float:
        return self.seen

    @override
    def interval(self, level: float) -> Interval:
        check_level(level)
        count = len(self.draws)
        if self.draws[0] == self.draws[-1]:
            return no_interval(REPLICATES, level, "all resamples differ alike, so there is no spread to judge by")
        place = math.floor(expanded_tails(level, self.units)[0] * (count + 1) + 1e-9)
        if not place:
            return no_interval(REPLICATES, level, f"{count:,} resamples are too few for a level of {level:.4g}")
        return Interval(
            low=min(self.draws[place - 1], self.seen),
            high=max(self.draws[-place], self.seen),
            level=level,
            method=REPLICATES,
            standard_error=self._error,
        )

    @property
    def _error(self) -> float:
        return stdev(self.draws)

    @override
    def p_values(self) -> tuple[float, float]:
        return self._p(sum(draw <= 0.0 for draw in self.draws)), self._p(sum(draw >= 0.0 for draw in self.draws))

    def _p(self, contrary: int) -> float:
        """The level of one side at which the end of the interval reaches the draws to the contrary."""
        share = (contrary + 1.0) / (len(self.draws) + 1.0)
        if share >= 1.0:
            return 1.0
        t = normal_quantile(share) * math.sqrt((self.units - 1.0) / self.units)
        tail = student_t_tail(abs(t), self.units - 1.0)
        return tail if t < 0.0 else 1.0 - tail

    @property
    @override
    def least_p_drop(self) -> float | None:
        return self._p(0)

    @override
    def detectable(self, level: float, power: float) -> float | None:
        if not self._error or self.interval(level).low is None:
            return None
        return minimum_detectable_effect(self._error, self.units - 1.0, level, power)

    @override
    def needed(self, difference: float, level: float, power: float) -> int:
        least = minimum_detectable_effect(self._error, self.units - 1.0, level, power)
        return math.ceil(self.units * (least / difference) ** 2)

    @override
    def undone_by(self, level: float) -> str:
        return "a few samples that the score hangs on, turned the other way"
