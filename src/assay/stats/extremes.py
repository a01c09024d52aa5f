"""Prediction intervals for the largest and the smallest value of another run of the same size, from order statistics.

Of n values seen and n to come, every order is equally likely, whatever their distribution. So all new ones fall below
the k-th largest seen with chance ∏ (n − i)/(2n − i), i < k: about one half to the power k. A sample does not show how
far above its largest value the next one may go, so on that side the interval ends where the scale does, or at the
value seen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.intervals import Floats, Interval, as_floats, check_level, cluster_codes, no_interval

METHOD = "order-statistics"


def largest_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """For the largest of as many new values, or of as many new clusters where values come in clusters."""
    check_level(level)
    ordered = np.sort(_largest_per_cluster(as_floats(values), clusters))[::-1]
    method = METHOD if clusters is None else f"clustered-{METHOD}"
    method += "|high=scale" if bounds is not None else "|high=observed"
    if not len(ordered):
        return no_interval(method, level, "nothing was scored")
    low = _low(ordered, 1.0 - level)
    if low is None:
        if bounds is None:
            return no_interval(method, level, f"{len(ordered)} values are too few to predict another run's")
        low = bounds[0]
    high = float(ordered[0]) if bounds is None else max(bounds[1], float(ordered[0]))
    return Interval(low=low, high=high, level=level, method=method)


def smallest_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """The same for the smallest value."""
    mirrored = None if bounds is None else (-bounds[1], -bounds[0])
    largest = largest_interval(-as_floats(values), clusters, level, mirrored)
    return Interval(
        low=None if largest.high is None else 0.0 - largest.high,
        high=None if largest.low is None else 0.0 - largest.low,
        level=level,
        method=largest.method.replace("high=", "low="),
        reason=largest.reason,
    )


def _low(ordered: Floats, tail: float) -> float | None:
    """What all new values fall below with chance `tail`, interpolated between the two order statistics around it."""
    n = len(ordered)
    chance = 1.0
    for k in range(n):
        before, chance = chance, chance * (n - k) / (2 * n - k)
        if chance <= tail:
            if k == 0:
                return float(ordered[0])
            share = math.log(before / tail) / math.log(before / chance)
            return float(ordered[k - 1] + share * (ordered[k] - ordered[k - 1]))
    return None


def _largest_per_cluster(values: Floats, clusters: ArrayLike | None) -> Floats:
    if clusters is None:
        return values
    codes, count = cluster_codes(clusters, len(values))
    largest = np.full(count, -math.inf)
    np.maximum.at(largest, codes, values)
    return largest
