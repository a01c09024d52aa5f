"""How sure a standard deviation is.

The bootstrap is far too narrow for few values (it covers the truth in 55 % of the cases for five normal ones). Bonett
(2006) works on the logarithm of the variance, whose error depends on the kurtosis. Few values of a skewed distribution
do not show their kurtosis, but they show their skewness, which is a lower bound of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from assay.stats.intervals import (
    Codes,
    Floats,
    Interval,
    as_floats,
    check_level,
    cluster_codes,
    cluster_degrees,
    clustered_wilson,
    is_binary,
    no_interval,
    wilson,
)
from assay.stats.quantiles import normal_quantile, student_t_quantile

METHOD = "bonett"
FEWEST = 4


def spread_interval(
    values: ArrayLike, groups: ArrayLike | None = None, level: float = 0.95, *, shares: bool = False
) -> Interval:
    """Interval of the standard deviation; of right and wrong `shares`, √(p(1 − p)) over Wilson's interval of p."""
    check_level(level)
    numbers = as_floats(values)
    codes, clusters = (None, len(numbers)) if groups is None else cluster_codes(groups, len(numbers))
    method = METHOD if codes is None else f"clustered-{METHOD}"
    if clusters < FEWEST:
        units = "values" if codes is None else "clusters"
        return no_interval(method, level, f"fewer than {FEWEST} {units} say nothing about the spread")
    if shares and is_binary(numbers):
        if codes is None:
            return _of_shares(wilson(float(numbers.sum()), len(numbers), level))
        return _of_shares(clustered_wilson(numbers, codes, level))
    if numbers.min() == numbers.max():
        return no_interval(method, level, f"all {len(numbers)} values are equal, so there is no spread to judge by")
    z = normal_quantile(0.5 + level / 2.0)
    # Bonett's correction for few values, which he gives for levels up to 0.99
    stretch = clusters / (clusters - min(z, 2.6))
    error = stretch * _error_of_log_variance(numbers, codes, clusters)
    degrees = clusters - 1.0 if codes is None else cluster_degrees(np.bincount(codes, minlength=clusters))
    centre = math.log(stretch * float(numbers.var(ddof=1)))
    reach = student_t_quantile(0.5 + level / 2.0, degrees) * error
    value = float(numbers.std())
    low, high = math.exp((centre - reach) / 2.0), math.exp(min(centre + reach, 1400.0) / 2.0)
    return Interval(low=min(low, value), high=max(high, value), level=level, method=method)


def _error_of_log_variance(values: Floats, codes: Codes | None, clusters: int) -> float:
    n = len(values)
    scaled = (values - values.mean()) / values.std()
    shares = np.sort(scaled)
    cut = int(n * min(0.49, 0.5 / math.sqrt(max(n - 4, 1))))
    # around a trimmed mean the fourth moment is larger where the tail is long
    kurtosis = float(((scaled - shares[cut : n - cut].mean()) ** 4).mean())
    skewness = float((scaled**3).mean()) * math.sqrt(n * (n - 1.0)) / (n - 2.0)
    kurtosis = max(kurtosis, 4.0 * skewness**2 + 1.0)
    alone = max(kurtosis - (n - 3.0) / n, 0.05) / (n - 1.0)
    return math.sqrt(alone * (1.0 if codes is None else _design_effect(scaled, codes, clusters)))


def _design_effect(scaled: Floats, codes: Codes, clusters: int) -> float:
    """How much clusters raise the variance of the mean square, never below 1."""
    squares = scaled**2 - 1.0
    sums = np.bincount(codes, weights=squares, minlength=clusters)
    weights = np.bincount(codes, minlength=clusters) / len(scaled)
    independent = float((squares**2).sum())
    if independent == 0.0:
        return float(len(scaled)) / clusters
    return max(1.0, float((sums**2 / (1.0 - weights)).sum()) / independent)


def _of_shares(interval: Interval) -> Interval:
    if interval.low is None or interval.high is None:
        return interval
    ends = sorted(math.sqrt(p * (1.0 - p)) for p in (interval.low, interval.high))
    highest = 0.5 if interval.low <= 0.5 <= interval.high else ends[1]
    return Interval(low=ends[0], high=highest, level=interval.level, method=interval.method)
