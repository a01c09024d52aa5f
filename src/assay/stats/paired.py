"""Two runs on the same samples: how much they differ, how sure that is, and whether chance explains it.

Pairing by sample removes what the two runs share, the difficulty of the questions, and so reveals differences that two
separate intervals hide. The difference is always second minus first: positive means that the second is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike

from assay.stats.families import Corrected
from assay.stats.guarded import skewed_t, spread_of
from assay.stats.intervals import Floats, Interval, as_floats, check_level, is_binary, no_interval, sums_by_cluster
from assay.stats.paired_evidence import AnswerPairs, Basis, GuardedPairs, JackknifePairs, OpenPairs
from assay.stats.permutation import permutation_test
from assay.stats.replicate_pairs import ReplicatePairs

Evidence = AnswerPairs | GuardedPairs | OpenPairs | JackknifePairs | ReplicatePairs


class PairedComparison(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a diff says about one measure of two runs."""

    n: int
    """Pairs compared."""
    clusters: int | None = None
    """The clusters that the pairs come in; None when every pair is independent."""
    first: float | None
    second: float | None
    """The two means, over the same pairs."""
    difference: float | None
    interval: Interval
    """Excludes 0 if and only if the test finds a difference; of several comparisons, at the level that Holm's
    correction leaves for this one."""
    margin_interval: Interval
    """At the level of the report, with the ends that a claim about a margin may rest on."""
    p_value: float | None
    p_drop: float | None = None
    """One-sided: the chance of so large a drop, or a larger one, if nothing had changed."""
    test: str
    """`mcnemar-exact`, `guarded-t`, `skewed-t`, `jackknife-t` or `replicates`."""
    evidence: Evidence | None = None
    """What the test and the interval are made from."""
    wins: int = 0
    """Pairs in which the second is better."""
    losses: int = 0
    ties: int = 0
    p_of_changes: float | None = None
    """Of the sign-flip test, where it finds that the changes are not chance although no other mean is shown."""
    effect_sizes: dict[str, float] = {}
    """`cohen_dz` where there is spread; `cohen_h` and `odds_ratio` for right/wrong answers."""
    minimum_detectable_effect: float | None = None
    """The true difference this many pairs would find with the stated power, at the level of the test; None when they
    would find none, however large. Of right/wrong answers, one on top of the rarer flips; of others, with the spread
    seen, to both sides alike."""
    detectable_within: float | None = None
    """Of right/wrong answers, that of a difference which is a part of the pairs that differ, as many as were seen."""
    needed: int | None = None
    """About how many samples, or groups, would find a difference as large as the one seen; None when unknown."""
    least_p_drop: float | None = None
    """The smallest one-sided p-value that a drop could have: everything lost. None where there is nothing to lose."""
    scale: bool = False
    """Whether all scores lie in [0, 1], so that no difference is larger than 1."""
    power: float = 0.8
    signature: str = ""
    reason: str | None = None
    """Why there is no difference to report, when there is none."""
    basis: Basis | None = None
    """What the answer rests on; None before the comparisons of the report are corrected together."""

    @property
    def by_pair(self) -> bool:
        """Whether single pairs are better or worse; not where the numbers are made of all samples together."""
        return self.wins + self.losses + self.ties > 0

    def corrected(self, corrected: Corrected) -> PairedComparison:
        """With the interval and the detectable difference that belong to the corrected test."""
        evidence = self.evidence
        if evidence is None:
            return self
        least, needed, within = evidence.enough(corrected, self.power)
        return replace(
            self,
            interval=evidence.interval(corrected.level),
            minimum_detectable_effect=least,
            detectable_within=within,
            needed=needed,
            basis=evidence.basis(corrected, self.interval.level, needed),
        )


def compare(
    first: ArrayLike,
    second: ArrayLike,
    *,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
    power: float = 0.8,
    shares: bool = True,
    largest_loss: float | None = None,
) -> PairedComparison:
    """Compare two aligned lists of scores, one pair per sample (or attempt, with the sample as its group).

    `shares` says that they are scores from 0 to 1; other numbers have no scale, whatever values occur. `largest_loss`
    is the most that such a score can change; a larger change is a `ValueError`.

    Right/wrong answers: McNemar's exact test and Bonett and Price's interval. Scores on a scale, or clusters: a t test
    that is guarded against a loss that was not seen. Values without a scale: a t test corrected for skewness.
    """
    check_level(level)
    before, after = _aligned(first, second)
    n = len(before)
    if n == 0:
        return refused("no sample was scored in both runs", level)
    differences = _differences(before, after)
    wins, losses = int((after > before).sum()), int((after < before).sum())
    binary = shares and is_binary(before) and is_binary(after)
    scale = shares and _in_unit(before) and _in_unit(after)
    evidence: Evidence
    if binary and groups is None:
        evidence = AnswerPairs(wins, losses, n, int(before.sum()))
    elif scale:
        reach = _reach(differences, largest_loss)
        evidence = GuardedPairs(spread_of(differences, groups), had=spread_of(before, groups), reach=reach)
    else:
        evidence = OpenPairs(skewed_t(differences, groups))
    interval, p_value = evidence.interval(level), evidence.p_value
    return PairedComparison(
        n=n,
        clusters=None if groups is None else len(sums_by_cluster(differences, groups)[0]),
        first=float(before.mean()),
        second=float(after.mean()),
        difference=float(differences.mean()),
        interval=interval,
        margin_interval=evidence.margin_interval(level),
        p_value=p_value,
        p_drop=evidence.p_values()[1],
        test=evidence.test,
        evidence=evidence,
        wins=wins,
        losses=losses,
        ties=n - wins - losses,
        p_of_changes=_p_of_changes(evidence, differences, groups, p_value, level),
        effect_sizes=_effect_sizes(before, after, differences, wins, losses, binary),
        minimum_detectable_effect=evidence.detectable(level, power),
        least_p_drop=evidence.least_p_drop,
        scale=scale,
        power=power,
        signature=f"paired|{interval.method}|{evidence.test}|level={level:g}",
    )


def refused(reason: str, level: float) -> PairedComparison:
    """No comparison, and why."""
    nothing = no_interval("t", level, reason)
    return PairedComparison(
        n=0,
        first=None,
        second=None,
        difference=None,
        interval=nothing,
        margin_interval=nothing,
        p_value=None,
        test="none",
        reason=reason,
    )


def cohen_dz(differences: ArrayLike) -> float | None:
    """Mean difference in units of the standard deviation (n − 1) of the differences; None without spread."""
    values = as_floats(differences)
    if len(values) < 2 or values.min() == values.max():
        return None
    return float(values.mean() / values.std(ddof=1))


def cohen_h(first: float, second: float) -> float:
    """Difference of two shares on the arcsine scale, where 0.2, 0.5 and 0.8 read small, medium, large."""
    return 2.0 * (math.asin(math.sqrt(second)) - math.asin(math.sqrt(first)))


def odds_ratio(wins: int, losses: int) -> float | None:
    """Odds that a pair that differs favours the second; None when there is no loss to divide by."""
    return wins / losses if losses else None


def _p_of_changes(
    evidence: Evidence, differences: Floats, groups: ArrayLike | Sequence[Any] | None, p_value: float, level: float
) -> float | None:
    """The p-value of the sign-flip test where it alone finds something; its signs say nothing about the mean."""
    if not isinstance(evidence, GuardedPairs) or p_value < 1.0 - level or not differences.any():
        return None
    p_of_changes = permutation_test(differences, groups=groups)[1]
    return p_of_changes if p_of_changes < 1.0 - level else None


def _differences(before: Floats, after: Floats) -> Floats:
    """Second minus first. Differences that vary by rounding alone become one number, so that rounding does not pass for
    spread and give an interval without a width.
    """
    differences = after - before
    largest = max(before.max(), after.max(), -before.min(), -after.min())
    rounding = 4.0 * np.finfo(np.float64).eps * largest
    return np.full_like(differences, np.median(differences)) if np.ptp(differences) <= rounding else differences


def _reach(differences: Floats, largest_loss: float | None) -> float:
    if largest_loss is None:
        return 1.0
    seen = float(np.abs(differences).max())
    if seen > largest_loss + 1e-9:
        declared = f"`largest_loss: {largest_loss:g}`"
        raise ValueError(f"the score of a sample changed by {seen:.3g}, more than {declared} allows")
    return largest_loss


def _in_unit(values: Floats) -> bool:
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def _aligned(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    before, after = as_floats(first), as_floats(second)
    if len(before) != len(after):
        raise ValueError(f"paired scores must be aligned: {len(before)} in the first, {len(after)} in the second")
    return before, after


def _effect_sizes(
    before: Floats, after: Floats, differences: Floats, wins: int, losses: int, binary: bool
) -> dict[str, float]:
    sizes = {"cohen_dz": cohen_dz(differences)}
    if binary:
        sizes["cohen_h"] = cohen_h(float(before.mean()), float(after.mean()))
        sizes["odds_ratio"] = odds_ratio(wins, losses)
    return {name: size for name, size in sizes.items() if size is not None}
