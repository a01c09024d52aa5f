"""Confidence intervals in closed form: which numbers are believable given what was measured.

Each answers with an `Interval`, which names its method. Where the data cannot support one (a single value, a
single cluster, no variation at all) the bounds are None and `reason` says why: a width of zero would claim
certainty. `docs/statistics.md` says which one to use when; resampling lives in `bootstrap.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
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
        """The same interval inside the range the measure can take; coverage is not changed by that."""
        if self.low is None or self.high is None:
            return self
        return Interval(
            low=min(max(self.low, low), high),
            high=max(min(self.high, high), low),
            level=self.level,
            method=self.method,
            standard_error=self.standard_error,
        )


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
    low, high = _wilson_bounds(p, n, normal_quantile(0.5 + level / 2.0))
    return Interval(low=low, high=high, level=level, method="wilson", standard_error=math.sqrt(p * (1.0 - p) / n))


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Mean of independent values: Student's t with n - 1 degrees, sample standard error s/√n (n - 1 in s).

    t rather than the normal: the same beyond a few hundred values, and honest for the small sets people start
    with.
    """
    check_level(level)
    numbers = as_floats(values)
    n = len(numbers)
    if n < 2:
        reason = "nothing was scored" if n == 0 else "one value has no spread to judge by"
        return no_interval("t", level, reason)
    return around(float(numbers.mean()), standard_error(numbers), n - 1, n=n, level=level, method="t")


def clustered_mean_interval(values: ArrayLike, groups: ArrayLike | Sequence[Any], level: float = 0.95) -> Interval:
    """Mean of values that come in clusters: several attempts at one sample, several questions on one passage.

    Cluster-robust standard error √(Σ_c(Σ_i(s_ic − s̄))²)/n, times √(G/(G−1)) for few clusters, with Student's
    t of G − 1 degrees. With one value per cluster it is exactly `mean_interval`.
    """
    check_level(level)
    numbers = as_floats(values)
    codes, clusters = cluster_codes(groups, len(numbers))
    if clusters < 2:
        reason = "nothing was scored" if clusters == 0 else "one cluster has no spread to judge by"
        return no_interval("clustered-t", level, reason)
    error = clustered_standard_error(numbers, codes, clusters)
    return around(float(numbers.mean()), error, clusters - 1, n=len(numbers), level=level, method="clustered-t")


def clustered_wilson(values: ArrayLike, groups: ArrayLike | Sequence[Any], level: float = 0.95) -> Interval:
    """Share of right answers that come in clusters: Wilson at the effective number of independent answers.

    The effective number is n divided by the design effect (cluster-robust variance over binomial variance),
    never more than n, and the number of clusters when nothing varies; the quantile is Student's t with G − 1
    degrees. In the middle it agrees with `clustered_mean_interval`; near 0 % and 100 % it stays inside [0, 1]
    and keeps a width.
    """
    check_level(level)
    numbers = as_floats(values)
    codes, clusters = cluster_codes(groups, len(numbers))
    if clusters < 2:
        reason = "nothing was scored" if clusters == 0 else "one cluster has no spread to judge by"
        return no_interval("clustered-wilson", level, reason)
    p = float(numbers.mean())
    error = clustered_standard_error(numbers, codes, clusters)
    n = len(numbers)
    effective = float(clusters) if error == 0.0 else min(float(n), p * (1.0 - p) / error**2)
    low, high = _wilson_bounds(p, effective, student_t_quantile(0.5 + level / 2.0, clusters - 1))
    return Interval(low=low, high=high, level=level, method="clustered-wilson", standard_error=error)


def standard_error(values: Floats) -> float:
    """Sample standard deviation (n - 1) over √n."""
    # the spread of equal values is rounding, not information
    if values.min() == values.max():
        return 0.0
    return float(values.std(ddof=1)) / math.sqrt(len(values))


def clustered_standard_error(values: Floats, codes: Codes, clusters: int) -> float:
    """Cluster-robust standard error of the mean, with the G/(G−1) correction for few clusters."""
    if values.min() == values.max():
        return 0.0
    residuals = np.bincount(codes, weights=values - values.mean(), minlength=clusters)
    return math.sqrt(float(residuals @ residuals) * clusters / (clusters - 1)) / len(values)


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


def check_level(level: float) -> None:
    """A level is a share, such as 0.95."""
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


def _wilson_bounds(p: float, n: float, z: float) -> tuple[float, float]:
    shrink = 1.0 + z * z / n
    centre = (p + z * z / (2.0 * n)) / shrink
    reach = z / shrink * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
    # rounding must not push the bound past the estimate or out of the range of a share
    return max(0.0, min(centre - reach, p)), min(1.0, max(centre + reach, p))
