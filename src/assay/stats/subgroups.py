"""Whether a part of the samples scores lower than the rest, for slices: among many, one looks weak by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from assay.stats.intervals import (
    Floats,
    as_floats,
    cluster_codes,
    cluster_degrees,
    clustered_standard_error,
    is_binary,
    standard_error,
)
from assay.stats.quantiles import student_t_tail

_ENOUGH = 10
"""With this many expected right and wrong answers in each part, the normal approximation is good enough."""


class PartAgainstRest(Struct, frozen=True, kw_only=True):
    """One part of the samples compared with all others."""

    part: float
    rest: float
    p_value: float
    """Two-sided, not yet corrected for the number of parts."""
    test: str


def against_rest(
    part: ArrayLike,
    rest: ArrayLike,
    *,
    part_groups: Sequence[object] | ArrayLike | None = None,
    rest_groups: Sequence[object] | ArrayLike | None = None,
    shares: bool = True,
) -> PartAgainstRest | None:
    """Compare a part with the rest: Fisher's exact test for few right/wrong answers, else Welch's t, clustered with
    groups. None when a side has no spread to judge by.
    """
    inside, outside = as_floats(part), as_floats(rest)
    if len(inside) < 2 or len(outside) < 2:
        return None
    part_mean, rest_mean = float(inside.mean()), float(outside.mean())
    clustered = part_groups is not None or rest_groups is not None
    if shares and is_binary(inside) and is_binary(outside) and not clustered and _few(inside, outside):
        test = "fisher-exact"
        p_value = fisher_exact(int(inside.sum()), len(inside), int(outside.sum()), len(outside))
    else:
        test = "clustered-welch" if clustered else "welch"
        first, second = _variance(inside, part_groups), _variance(outside, rest_groups)
        if first is None or second is None or first[0] + second[0] == 0.0:
            return None
        p_value = _welch(part_mean - rest_mean, first, second)
    return PartAgainstRest(part=part_mean, rest=rest_mean, p_value=p_value, test=test)


def fisher_exact(right: int, n: int, other_right: int, other_n: int) -> float:
    """Two-sided p-value of Fisher's exact test on two shares: all tables at most as likely as this one."""
    total, good = n + other_n, right + other_right
    least, most = max(0, good - other_n), min(n, good)
    tables = (_log_choose(n, k) + _log_choose(other_n, good - k) for k in range(least, most + 1))
    logs = np.array([table - _log_choose(total, good) for table in tables])
    # a table whose chance differs from that of the observed one by rounding alone counts as equally likely
    return float(min(1.0, np.exp(logs[logs <= logs[right - least] + 1e-7]).sum()))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _few(inside: Floats, outside: Floats) -> bool:
    share = float(inside.sum() + outside.sum()) / (len(inside) + len(outside))
    return min(len(inside), len(outside)) * min(share, 1.0 - share) < _ENOUGH


def _variance(values: Floats, groups: Sequence[object] | ArrayLike | None) -> tuple[float, float] | None:
    """The variance of the mean, and its degrees of freedom."""
    if groups is None:
        return standard_error(values) ** 2, len(values) - 1.0
    codes, clusters = cluster_codes(groups, len(values))
    if clusters < 2:
        return None
    degrees = cluster_degrees(np.bincount(codes, minlength=clusters))
    return clustered_standard_error(values, codes, clusters) ** 2, degrees


def _welch(difference: float, first: tuple[float, float], second: tuple[float, float]) -> float:
    variance = first[0] + second[0]
    degrees = variance**2 / (first[0] ** 2 / first[1] + second[0] ** 2 / second[1])
    return min(1.0, 2.0 * student_t_tail(abs(difference) / math.sqrt(variance), degrees))
