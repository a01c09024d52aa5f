"""How sure a median or another quantile is, from order statistics: no assumption about the distribution.

Of n independent values, how many lie below the true quantile is binomial, whatever they are. So between the l-th and
the u-th smallest it lies with a known chance. Where values come in clusters, the share of values below is what is
uncertain: the interval holds every number that the clustered interval of that share does not exclude (Woodruff 1952).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.intervals import (
    Floats,
    Interval,
    as_floats,
    check_level,
    cluster_codes,
    clustered_wilson,
    no_interval,
    too_few,
)
from assay.stats.quantiles import incomplete_beta

METHOD = "quantile-ranks"


def quantile_interval(
    values: ArrayLike,
    q: float,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """The interval of the q-quantile; an end that the values are too few to show is that of the scale, if there is one.

    Median of 30 values: from the 10th to the 21st smallest. The 0.9 quantile has no upper end below 36 values.
    """
    check_level(level)
    numbers = as_floats(values)
    method = METHOD if clusters is None else f"clustered-{METHOD}"
    if not len(numbers):
        return no_interval(method, level, "nothing was scored")
    ordered = np.sort(numbers)
    if clusters is None:
        low, high = _of_ranks(ordered, q, (1.0 - level) / 2.0)
        few = f"{len(ordered)} values are too few for an interval of the {q:g} quantile, which needs {fewest(q, level)}"
    else:
        codes, count = cluster_codes(clusters, len(numbers))
        if count < 2:
            return too_few(method, level, count, "cluster")
        low, high = _of_shares(numbers, np.unique(numbers), q, lambda below: clustered_wilson(below, codes, level))
        few = f"{count} clusters are too few for an interval of the {q:g} quantile"
    if bounds is not None:
        low, high = bounds[0] if low is None else low, bounds[1] if high is None else high
    if low is None or high is None:
        return no_interval(method, level, few)
    value = float(np.quantile(ordered, q))
    return Interval(low=min(low, value), high=max(high, value), level=level, method=method)


def fewest(q: float, level: float) -> int:
    """How many values there must be for both ends."""
    return math.ceil(math.log((1.0 - level) / 2.0) / math.log(max(q, 1.0 - q)))


def _of_ranks(ordered: Floats, q: float, tail: float) -> tuple[float | None, float | None]:
    n = len(ordered)
    # the first rank below which the truth lies with more than the tail's chance, and its mirror image
    below = _first(n + 1, lambda rank: _at_most(rank, n, q) > tail)
    above = _first(n + 1, lambda rank: _at_most(rank, n, 1.0 - q) > tail)
    return (
        float(ordered[below - 1]) if below else None,
        float(ordered[n - above]) if above else None,
    )


def _of_shares(
    values: Floats, distinct: Floats, q: float, interval_of: Callable[[Floats], Interval]
) -> tuple[float | None, float | None]:
    def share_may_be(below: Floats, *, at_least: bool) -> bool:
        interval = interval_of(below.astype(np.float64))
        low, high = interval.low or 0.0, 1.0 if interval.high is None else interval.high
        return high >= q if at_least else low > q

    nothing, everything = np.zeros(len(values)), np.ones(len(values))
    first = _first(len(distinct), lambda at: share_may_be(values <= distinct[at], at_least=True))
    last = _first(len(distinct), lambda at: share_may_be(values <= distinct[at], at_least=False))
    return (
        None if share_may_be(nothing, at_least=True) else float(distinct[min(first, len(distinct) - 1)]),
        float(distinct[last]) if share_may_be(everything, at_least=False) else None,
    )


def _at_most(k: int, n: int, q: float) -> float:
    """The chance that at most k of n values lie below the q-quantile."""
    return 1.0 if k >= n else incomplete_beta(1.0 - q, n - k, k + 1.0)


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The first of 0 … count − 1 for which it holds, if it holds for all that follow; count where it never does."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
