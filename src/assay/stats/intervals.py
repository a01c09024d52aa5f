"""Confidence intervals in closed form: which numbers are believable given what was measured.

Each function returns an `Interval`, which names its method. Where the data cannot support one (a single value, a
single cluster, no variation at all) the bounds are None and `reason` says why: a width of zero would claim
certainty. `docs/methods.md` says which one to use when; resampling is in `bootstrap.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import ArrayLike, NDArray

from assay.core.errors import UsageError
from assay.stats.quantiles import normal_quantile, student_t_quantile

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Interval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A range of believable values for a number, and how it was obtained."""

    low: float | None
    high: float | None
    level: float
    """Share of repeated experiments whose interval would cover the truth, such as 0.95."""
    method: str
    reason: str | None = None
    """Why there are no bounds, when there are none."""
    standard_error: float | None = None

    def signature(self, name: str) -> str:
        """The definition of a number in one line: `mean|wilson|level=0.95`."""
        return f"{name}|{self.method}|level={self.level:g}"

    def clipped(self, low: float, high: float) -> Interval:
        """The same interval inside the range the measure can take, which does not change its coverage."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=min(max(self.low, low), high), high=max(min(self.high, high), low))


def wilson(successes: float, n: float, level: float = 0.95) -> Interval:
    """Score interval of a share of right answers (Wilson 1927).

    Stays inside [0, 1] and keeps its width at 0 % and 100 %, where the textbook p ± z·SE collapses.
    """
    check_level(level)
    if not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n, got {successes} of {n}")
    if n == 0:
        return no_interval("wilson", level, "nothing was scored")
    p = successes / n
    low, high = wilson_bounds(p, n, normal_quantile(0.5 + level / 2.0))
    return Interval(low=low, high=high, level=level, method="wilson", standard_error=math.sqrt(p * (1.0 - p) / n))


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of independent values: Student's t with n - 1 degrees, sample standard error s/√n (n - 1 in s).

    t rather than the normal: the same beyond a few hundred values, and correct for the small sets people start with.
    """
    check_level(level)
    numbers = as_floats(values)
    n = len(numbers)
    if n < 2:
        return too_few("t", level, n, "value")
    return around(float(numbers.mean()), standard_error(numbers), n - 1, n=n, level=level, method="t")


def clustered_mean_interval(values: ArrayLike, groups: ArrayLike | Sequence[Any], level: float = 0.95) -> Interval:
    """Mean of values that come in clusters: several attempts at one sample, several questions on one passage.

    Cluster-robust standard error √(Σ_c r_c²/(1 − n_c/n))/n, where r_c sums a cluster's distances from the mean (CR2,
    Bell & McCaffrey 2002), with Student's t at their degrees of freedom: G − 1 for clusters of equal size, fewer where
    a few clusters hold most of the values. With one value per cluster it is exactly `mean_interval`.
    """
    check_level(level)
    numbers = as_floats(values)
    codes, clusters = cluster_codes(groups, len(numbers))
    if clusters < 2:
        return too_few("clustered-t", level, clusters, "cluster")
    error = clustered_standard_error(numbers, codes, clusters)
    degrees = cluster_degrees(np.bincount(codes, minlength=clusters))
    return around(float(numbers.mean()), error, degrees, n=len(numbers), level=level, method="clustered-t")


def clustered_wilson(values: ArrayLike, groups: ArrayLike | Sequence[Any], level: float = 0.95) -> Interval:
    """Share of right answers that come in clusters: Wilson at the effective number of independent answers.

    The spread between clusters is computed with one more cluster all wrong and one all right, so that a few clusters
    that happen to agree do not pass for certainty; the quantile is Student's t at the clusters' degrees of freedom. The
    effective number is at most that of the answers, and the number of clusters when nothing varies.
    """
    check_level(level)
    numbers = as_floats(values)
    codes, clusters = cluster_codes(groups, len(numbers))
    if clusters < 2:
        return too_few("clustered-wilson", level, clusters, "cluster")
    sums, sizes = _by_code(numbers, codes, clusters)
    return _effective_wilson(sums, sizes, level, most=len(numbers), method="clustered-wilson")


def ratio_interval(
    parts: ArrayLike,
    wholes: ArrayLike,
    groups: ArrayLike | Sequence[Any] | None = None,
    level: float = 0.95,
) -> Interval:
    """Σ parts / Σ wholes, where every sample brings its own counts: recall, precision, the Jaccard index.

    The counts of one sample are a cluster of right and wrong answers; samples whose counts are all 0 are left out.
    """
    check_level(level)
    sums, sizes = as_floats(parts), as_floats(wholes)
    if groups is not None:
        sums, sizes = (sums_by_cluster(item, groups)[0] for item in (sums, sizes))
    nonempty = sizes > 0.0
    sums, sizes = sums[nonempty], sizes[nonempty]
    if not len(sizes):
        return no_interval("ratio-wilson", level, "nothing was counted")
    if (sizes == 1.0).all() and is_binary(sums):
        return replace(wilson(float(sums.sum()), len(sums), level), method="ratio-wilson")
    if len(sizes) < 2:
        return too_few("ratio-wilson", level, len(sizes), "sample")
    return _effective_wilson(sums, sizes, level, most=float(sizes.sum()), method="ratio-wilson")


def wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's formula, for a number of answers that need not be whole."""
    shrink = 1.0 + z * z / n
    centre = (p + z * z / (2.0 * n)) / shrink
    reach = z / shrink * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    # rounding must not push the bound past the estimate or out of the range of a share
    return max(0.0, min(centre - reach, p)), min(1.0, max(centre + reach, p))


def standard_error(values: Floats) -> float:
    """Sample standard deviation (n - 1) over √n."""
    # the spread of equal values is rounding, not information
    if values.min() == values.max():
        return 0.0
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def clustered_standard_error(values: Floats, codes: Codes, clusters: int) -> float:
    """Cluster-robust standard error of the mean (CR2): a large cluster pulls the mean towards itself, so its distance
    is scaled up by as much; with clusters of equal size this is the factor √(G/(G − 1)).
    """
    if values.min() == values.max():
        return 0.0
    return robust_error(*_by_code(values - values.mean(), codes, clusters))


def robust_error(sums: Floats, sizes: Floats) -> float:
    """The same, from every cluster's sum and size."""
    total = float(sizes.sum())
    residuals = (sums - sizes * (float(sums.sum()) / total)) ** 2
    # the spread of equal values is rounding, not information
    if float(residuals.max()) <= 1e-24 * float((sums**2).max()):
        return 0.0
    return math.sqrt(float((residuals / (1.0 - sizes / total)).sum())) / total


def sums_by_cluster(values: Floats, groups: ArrayLike | Sequence[Any] | None) -> tuple[Floats, Floats]:
    """Every cluster's sum and size; without groups every value is a cluster."""
    if groups is None:
        return values, np.broadcast_to(1.0, len(values))
    return _by_code(values, *cluster_codes(groups, len(values)))


def rows_by_cluster(rows: Floats, groups: ArrayLike | Sequence[Any] | None) -> tuple[Floats, Floats]:
    """Every cluster's sum of each column, and its size; without groups every row is a cluster."""
    if groups is None:
        return rows, np.ones(len(rows))
    codes, clusters = cluster_codes(groups, len(rows))
    sums: Floats = np.column_stack([np.bincount(codes, weights=column, minlength=clusters) for column in rows.T])
    return sums, np.bincount(codes, minlength=clusters).astype(np.float64)


def cluster_degrees(sizes: ArrayLike) -> float:
    """Degrees of freedom of that standard error (Bell & McCaffrey 2002), in closed form for a mean."""
    counts = np.asarray(sizes, dtype=np.float64)
    weights = counts / counts.sum()
    pulls = weights**2 / (1.0 - weights)
    return 1.0 / float(pulls.sum() ** 2 - (pulls**2).sum() + (weights**2).sum())


def cluster_codes(groups: ArrayLike | Sequence[Any], n: int) -> tuple[Codes, int]:
    """Any labels as codes 0 … G−1, and G."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(f"need one group per value: {n} values, groups of shape {labels.shape}")
    distinct, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.intp, copy=False).reshape(-1), len(distinct)


def around(estimate: float, error: float, degrees: float, *, n: int, level: float, method: str) -> Interval:
    """estimate ± t·error, or no interval when nothing varied."""
    if error == 0.0:
        return no_interval(method, level, f"all {n} values are equal, so there is no spread to judge by")
    reach = student_t_quantile(0.5 + level / 2.0, degrees) * error
    return Interval(low=estimate - reach, high=estimate + reach, level=level, method=method, standard_error=error)


def no_interval(method: str, level: float, reason: str) -> Interval:
    """The absence of an interval, with its reason."""
    return Interval(low=None, high=None, level=level, method=method, reason=reason)


def too_few(method: str, level: float, count: int, unit: str) -> Interval:
    """No interval, for lack of a second value, sample or cluster."""
    return no_interval(method, level, f"one {unit} has no spread to judge by" if count else "nothing was scored")


def check_level(level: float) -> None:
    """Refuse a level that is not a share, such as 95 for 0.95."""
    if not 0.0 < level < 1.0:
        raise UsageError(f"a confidence level lies between 0 and 1, such as 0.95; got {level!r}")


def as_floats(values: ArrayLike) -> Floats:
    """One-dimensional finite floats; anything else is a programming error, since NaN is not a score."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise ValueError(f"need a one-dimensional list of values, got shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError("values contain NaN or infinity; leave out what was not scored")
    return numbers


def is_binary(values: Floats) -> bool:
    """Whether every value is 0 or 1: right and wrong answers."""
    return bool(((values == 0.0) | (values == 1.0)).all())


def _effective_wilson(sums: Floats, sizes: Floats, level: float, *, most: float, method: str) -> Interval:
    """Wilson at the number of independent right/wrong answers that is as sure as these sums and sizes of clusters."""
    clusters, total = len(sums), float(sizes.sum())
    p, usual = float(sums.sum()) / total, total / len(sums)
    # one more cluster of the usual size at either end of the scale
    centre = (p * clusters + 1.0) / (clusters + 2.0)
    pull = (1.0 - 1.0 / clusters) / (1.0 - sizes / total)
    squares = float((pull * (sums - centre * sizes) ** 2).sum()) + usual**2 * (centre**2 + (1.0 - centre) ** 2)
    variance = squares / (total + 2.0 * usual) ** 2 * (clusters + 2.0) / clusters
    effective = min(most, centre * (1.0 - centre) / variance)
    low, high = wilson_bounds(p, effective, student_t_quantile(0.5 + level / 2.0, cluster_degrees(sizes)))
    return Interval(low=low, high=high, level=level, method=method, standard_error=robust_error(sums, sizes))


def _by_code(values: Floats, codes: Codes, clusters: int) -> tuple[Floats, Floats]:
    sums = np.asarray(np.bincount(codes, weights=values, minlength=clusters), dtype=np.float64)
    return sums, np.bincount(codes, minlength=clusters).astype(np.float64)
