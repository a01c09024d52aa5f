"""Statistics of repeated attempts: pass@k, pass^k, majority, best, worst, and how consistent a model is.

Every estimate uses all attempts of a sample, averaged over all ways to choose k of them, and every interval is over
samples: more attempts at the same questions do not make more questions. What is known counts: a sample with a wrong
attempt has pass^n = 0, whatever the attempts that failed or remain would have been. A sample with fewer than k attempts
of which it is not known is left out of the numbers for that k and counted as unscored; `failure_bounds.py` computes the
number over all samples if every such attempt had been wrong, or right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.core.describe import Range, describes
from assay.core.types import Summary
from assay.stats.cells import UNIT, interval_of_mean, mean_of
from assay.stats.described import of_repetitions
from assay.stats.intervals import Codes, Floats, Interval, as_floats, no_interval
from assay.stats.pass_at_k import majority_at_k, pass_at_k, pass_hat_k
from assay.stats.score_table import Numbers, ScoreTable


class Attempts(Struct, frozen=True, kw_only=True):
    """Scores of several attempts per sample, ragged: the values of sample i start at starts[i]."""

    values: Floats
    starts: Codes
    sizes: Codes
    groups: Codes | None = None
    """One cluster code per sample, where samples belong together."""
    scale: Range | None = None
    """The range of the scores, where it is known."""
    open: Codes | None = None
    """Attempts per sample that failed or remain; None where none did."""

    @classmethod
    def from_rows(cls, samples: ArrayLike, values: ArrayLike, groups: ArrayLike | None = None) -> Attempts:
        """From one row per attempt: its sample, its score, and the cluster its sample belongs to."""
        codes, numbers = np.asarray(samples, dtype=np.intp), as_floats(values)
        order = np.lexsort((numbers, codes))
        _, starts, sizes = np.unique(codes[order], return_index=True, return_counts=True)
        clusters = None if groups is None else np.asarray(groups, dtype=np.intp)[order][starts]
        return cls(values=numbers[order], starts=starts, sizes=sizes, groups=clusters)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def even(self) -> bool:
        """Whether all samples have the same number of attempts, so that the means over attempts and samples agree."""
        return bool(len(self)) and int(self.sizes.min()) == int(self.sizes.max())

    def right(self, threshold: float) -> Codes:
        """How many attempts of each sample reach the threshold."""
        if not len(self):
            return np.empty(0, dtype=np.intp)
        return np.add.reduceat((self.values >= threshold).astype(np.intp), self.starts)

    def clusters_of_rows(self) -> Codes:
        codes = np.arange(len(self)) if self.groups is None else self.groups
        return np.repeat(codes, self.sizes)


@describes(of_repetitions)
def repetitions(
    table: ScoreTable,
    *,
    field: str = "score",
    k: int | Iterable[int] = (1,),
    threshold: float = 1.0,
    level: float = 0.95,
) -> list[Summary]:
    """All statistics of repeated attempts as one aggregate; an attempt is right at `threshold` or above.

    Names: mean, pass@k, pass^k, majority@k, best@k, worst@k for each k, then consistency and flip_rate. `scored` counts
    the samples that a number is over, `unscored` those that it leaves out.
    """
    numbers = table.numbers(field)
    _, attempts = attempts_of(table, field)
    samples = len({*table.samples(slice(None)).tolist(), *table.failed_samples})
    estimates = [mean(attempts, level)]
    for size in [k] if isinstance(k, int) else k:
        estimates += [
            pass_at(attempts, size, threshold, level),
            pass_hat(attempts, size, threshold, level),
            majority(attempts, size, threshold, level),
            best(attempts, size, level),
            worst(attempts, size, level),
        ]
    estimates += [consistency(attempts, level), flip_rate(attempts, level)]
    return [_summary(estimate, samples, numbers, table) for estimate in estimates]


def attempts_of(table: ScoreTable, field: str) -> tuple[Codes, Attempts]:
    """The samples with a number in this column, and the numbers of their attempts."""
    numbers = table.numbers(field)
    attempts = replace(
        Attempts.from_rows(numbers.samples, numbers.values, numbers.clusters), scale=table.range_of(field)
    )
    codes = np.unique(numbers.samples)
    if len(np.unique(numbers.clusters)) == len(attempts):
        attempts = replace(attempts, groups=None)
    if lost := table.open_by_sample():
        attempts = replace(attempts, open=np.array([lost[int(code)] for code in codes], dtype=np.intp))
    return codes, attempts


def _summary(estimate: Estimate, samples: int, numbers: Numbers, table: ScoreTable) -> Summary:
    value, reason = estimate.value, estimate.interval.reason
    has_value = value is not None and math.isfinite(value)
    return Summary(
        name=estimate.name,
        value=value if has_value else None,
        low=estimate.interval.low,
        high=estimate.interval.high,
        scored=estimate.samples,
        unscored=samples - estimate.samples,
        failed=table.failed,
        timeouts=table.timeouts,
        signature=estimate.interval.signature(estimate.name),
        reason=None if has_value else numbers.reason or reason,
        details={"no_interval": reason} if has_value and reason is not None else None,
    )


class Estimate(Struct, frozen=True, kw_only=True):
    """A number over samples with its interval."""

    name: str
    value: float | None
    interval: Interval
    samples: int
    """Samples that had enough attempts."""


def mean(attempts: Attempts, level: float = 0.95) -> Estimate:
    """The mean over all attempts, clustered by sample."""
    if not len(attempts):
        return _estimate("mean", np.empty(0), None, level, "nothing was scored")
    return _over_attempts("mean", attempts, attempts.values, level, attempts.scale)


def pass_at(attempts: Attempts, k: int, threshold: float = 1.0, level: float = 0.95) -> Estimate:
    """The chance that at least one of k attempts is right."""
    return _by_counts(f"pass@{k}", pass_at_k, attempts, k, threshold=threshold, level=level)


def pass_hat(attempts: Attempts, k: int, threshold: float = 1.0, level: float = 0.95) -> Estimate:
    """The chance that all of k attempts are right: what a user who needs it every time gets."""
    return _by_counts(f"pass^{k}", pass_hat_k, attempts, k, threshold=threshold, level=level)


def majority(attempts: Attempts, k: int, threshold: float = 1.0, level: float = 0.95) -> Estimate:
    """The chance that more than half of k attempts are right; a tie counts half.

    A vote over answers can still do better, since wrong answers may disagree.
    """
    return _by_counts(f"majority@{k}", majority_at_k, attempts, k, threshold=threshold, level=level)


def best(attempts: Attempts, k: int, level: float = 0.95) -> Estimate:
    """The expected best score of k attempts; for right/wrong answers this is pass@k."""
    return _by_order(f"best@{k}", attempts, k, level, largest=True)


def worst(attempts: Attempts, k: int, level: float = 0.95) -> Estimate:
    """The expected worst score of k attempts; for right/wrong answers this is pass^k."""
    return _by_order(f"worst@{k}", attempts, k, level, largest=False)


def consistency(attempts: Attempts, level: float = 0.95) -> Estimate:
    """The share of samples with two attempts or more whose attempts all have the same score."""
    enough = attempts.sizes >= 2
    last = attempts.starts + attempts.sizes - 1
    # scores are sorted within a sample, so equal ends mean equal throughout
    agree = (attempts.values[attempts.starts] == attempts.values[last]).astype(np.float64)
    return _estimate("consistency", agree[enough], _groups(attempts, enough), level, "no sample has two attempts")


def flip_rate(attempts: Attempts, level: float = 0.95) -> Estimate:
    """The chance that two attempts at the same sample have different scores."""
    enough = attempts.sizes >= 2
    sample_of_row = np.repeat(np.arange(len(attempts)), attempts.sizes)
    new_run = np.ones(len(attempts.values), dtype=bool)
    new_run[1:] = (attempts.values[1:] != attempts.values[:-1]) | (sample_of_row[1:] != sample_of_row[:-1])
    runs = np.flatnonzero(new_run)
    lengths = np.diff(np.append(runs, len(attempts.values))).astype(np.float64)
    alike = np.bincount(sample_of_row[runs], weights=lengths * (lengths - 1.0), minlength=len(attempts))
    pairs = attempts.sizes * (attempts.sizes - 1.0)
    flips = 1.0 - alike[enough] / pairs[enough]
    return _estimate("flip_rate", flips, _groups(attempts, enough), level, "no sample has two attempts")


def _by_counts(
    name: str,
    of_counts: Callable[[int, int, int], float],
    attempts: Attempts,
    k: int,
    *,
    threshold: float,
    level: float,
) -> Estimate:
    _check_k(k)
    if k == 1 and attempts.even:
        # whatever its name, the share of right attempts
        right = (attempts.values >= threshold).astype(np.float64)
        return _over_attempts(name, attempts, right, level, UNIT)
    lost = _open_below(attempts, k)
    counts = np.column_stack([attempts.sizes, attempts.right(threshold), lost])
    # few distinct triples (attempts, right attempts, open ones): each is computed once
    triples, inverse = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([known_chance(of_counts, int(n), int(c), int(o), k) for n, c, o in triples], dtype=np.float64)
    values = chances[inverse.reshape(-1)] if len(triples) else np.empty(0)
    known = ~np.isnan(values)
    return _estimate(name, values[known], _groups(attempts, known), level, f"no sample has {k} attempts")


def known_chance(of_counts: Callable[[int, int, int], float], n: int, right: int, lost: int, k: int) -> float:
    """The chance of one sample; NaN where the attempts that are open decide it, or too few were planned."""
    if n + lost < k:
        return math.nan
    worst = of_counts(n + lost, right, k)
    return worst if worst == of_counts(n + lost, right + lost, k) else math.nan


def _by_order(name: str, attempts: Attempts, k: int, level: float, *, largest: bool) -> Estimate:
    """Expected extreme of k of n scores: the i-th smallest is the largest of C(i−1, k−1) of the C(n, k) choices."""
    _check_k(k)
    if k == 1 and attempts.even:
        return _over_attempts(name, attempts, attempts.values, level, attempts.scale)
    lost = _open_below(attempts, k)
    values = np.full(len(attempts), math.nan)
    for n, more in np.unique(np.column_stack([attempts.sizes, lost]), axis=0).tolist():
        if n + more < k:
            continue
        rows = np.flatnonzero((attempts.sizes == n) & (lost == more))
        ordered = attempts.values[attempts.starts[rows][:, None] + np.arange(n)]
        weights = np.array([math.comb(i, k - 1) / math.comb(n + more, k) for i in range(n + more)])
        weights = weights if largest else weights[::-1]
        if not more:
            values[rows] = ordered @ weights
        elif attempts.scale is not None:
            # open attempts at either end of the scale: where both give the same, it is known
            low, high = (np.full((len(rows), more), end) for end in attempts.scale)
            lows, highs = np.hstack([low, ordered]) @ weights, np.hstack([ordered, high]) @ weights
            values[rows] = np.where(np.abs(lows - highs) < 1e-12, lows, math.nan)
    known, empty = ~np.isnan(values), f"no sample has {k} attempts"
    return _estimate(name, values[known], _groups(attempts, known), level, empty, attempts.scale)


def _open_below(attempts: Attempts, k: int) -> Codes:
    """How many attempts are open, for the samples that have too few others."""
    lost = np.zeros(len(attempts), dtype=np.intp) if attempts.open is None else attempts.open
    return np.where(attempts.sizes >= k, 0, lost)


def _estimate(
    name: str, values: Floats, groups: Codes | None, level: float, empty: str, scale: Range | None = UNIT
) -> Estimate:
    interval = interval_of_mean(values, groups, level, scale)
    if not len(values):
        return Estimate(name=name, value=None, interval=no_interval(interval.method, level, empty), samples=0)
    return Estimate(name=name, value=mean_of(values), interval=interval, samples=len(values))


def _over_attempts(name: str, attempts: Attempts, values: Floats, level: float, scale: Range | None) -> Estimate:
    interval = interval_of_mean(values, attempts.clusters_of_rows(), level, scale)
    return Estimate(name=name, value=mean_of(values), interval=interval, samples=len(attempts))


def _groups(attempts: Attempts, chosen: NDArray[np.bool_]) -> Codes | None:
    return None if attempts.groups is None else attempts.groups[chosen]


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
