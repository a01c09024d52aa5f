"""The power of McNemar's exact test: the smallest true difference of two paired shares that n pairs would find.

The usual formula from the spread of the differences is too optimistic when few pairs differ: with 50 pairs and one flip
it gives 0.06, though it takes at least six flips the same way, 0.12, to be significant at 95 %.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from assay.stats.intervals import Floats, check_level
from assay.stats.quantiles import normal_cdf, normal_quantile
from assay.stats.search import fewest, smallest

_MANY = 400
"""Beyond this many expected flips the normal approximation, less the one flip that exactness costs, is as good."""
_LOG_FACTORIALS = np.array([math.lgamma(k + 1) for k in range(2 * _MANY + 2)])
Counts = np.ndarray[tuple[int], np.dtype[np.int64]]


def detectable_share_difference(
    wins: int, losses: int, n: int, level: float = 0.95, power: float = 0.8
) -> float | None:
    """The smallest true difference that n pairs find significant with this power; None when they find none.

    Flips against the difference are assumed as frequent as the rarer kind seen; the difference comes on top.
    """
    check_level(level)
    return None if n < 1 else _detectable(min(wins, losses), n, level, power)


@lru_cache(maxsize=4096)
def _detectable(rarer: int, n: int, level: float, power: float) -> float | None:
    against = rarer / n
    return smallest(lambda difference: mcnemar_power(difference, against, n, level) >= power, 1.0 - 2.0 * against)


@lru_cache(maxsize=4096)
def detectable_within(differing: int, n: int, level: float = 0.95, power: float = 0.8) -> float | None:
    """The same where as many pairs differ as were seen, and the difference is how unequally they do; None when even all
    of them the same way are too few.
    """
    flips = differing / n
    return smallest(lambda difference: mcnemar_power(difference, (flips - difference) / 2.0, n, level) >= power, flips)


def pairs_to_find(difference: float, against: float, level: float = 0.95, power: float = 0.8) -> int:
    """How many pairs find a true difference of this size when flips the other way have this share of all pairs."""
    if not 0.0 < difference <= 1.0 - 2.0 * against:
        raise ValueError(f"a difference of {difference} with a share of {against} against it is impossible")
    return fewest(lambda n: mcnemar_power(difference, against, n, level) >= power)


def mcnemar_power(difference: float, against: float, n: int, level: float = 0.95) -> float:
    """The chance that n pairs find this difference, where flips against it have this share of all pairs."""
    flips = 2.0 * against + difference
    if n * flips > _MANY:
        beyond = n * difference - normal_quantile(0.5 + level / 2.0) * math.sqrt(n * flips) - 1.0
        return normal_cdf(beyond / math.sqrt(n * max(flips - difference**2, 1e-12)))
    counts = np.arange(min(n, 2 * _MANY) + 1)
    chances = _binomial(n, min(1.0, flips), counts)
    share = (against + difference) / flips if flips > 0.0 else 0.5
    likely = counts[chances > 1e-12]
    return float(chances[likely] @ _significant(likely, min(1.0, share), 1.0 - level))


def _significant(flips: Counts, share: float, alpha: float) -> Floats:
    """For each number of flips, each one way with this chance, the chance that they are significant that way."""
    least = np.array([_least(m, alpha) or m + 1 for m in flips.tolist()])
    if share >= 1.0:
        return (least <= flips).astype(np.float64)
    one_way = np.arange(int(least.min()), int(flips.max()) + 1)
    rest = flips[:, None] - one_way
    inside = (one_way >= least[:, None]) & (rest >= 0)
    rest = np.maximum(rest, 0)
    logs = _LOG_FACTORIALS[flips][:, None] - _LOG_FACTORIALS[one_way] - _LOG_FACTORIALS[rest]
    logs += one_way * math.log(share) + rest * math.log1p(-share)
    chances: Floats = np.where(inside, np.exp(logs), 0.0).sum(axis=1)
    return chances


@lru_cache(maxsize=4096)
def _least(flips: int, alpha: float) -> int | None:
    """How many of these flips must go the same way to be significant; None when even all of them are not."""
    tails = np.cumsum(_binomial(flips, 0.5, np.arange(flips + 1))[::-1])[::-1]
    enough = np.flatnonzero(2.0 * tails <= alpha)
    return int(enough[0]) if len(enough) else None


def _binomial(n: int, p: float, counts: Counts) -> Floats:
    if p <= 0.0 or p >= 1.0:
        return np.asarray(counts == (n if p >= 1.0 else 0), dtype=np.float64)
    rest = np.array([math.lgamma(n - k + 1) for k in counts.tolist()])
    logs = math.lgamma(n + 1) - _LOG_FACTORIALS[counts] - rest
    masses: Floats = np.exp(logs + counts * math.log(p) + (n - counts) * math.log1p(-p))
    return masses
