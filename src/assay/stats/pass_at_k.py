"""pass@k: the chance that at least one of k attempts is right, estimated from n attempts at one sample."""

from __future__ import annotations

import math


def pass_at_k(n: int, c: int, k: int) -> float:
    """Unbiased estimate 1 − C(n−c, k)/C(n, k) from c right attempts among n (Chen et al. 2021).

    Needs k ≤ n: with fewer attempts there is no unbiased estimate, so that is an error rather than a guess.
    Example: pass_at_k(5, 3, 2) == 0.9
    """
    _check(n, c, k)
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """pass^k: the chance that all of k attempts are right, C(c, k)/C(n, k)."""
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def majority_at_k(n: int, c: int, k: int) -> float:
    """The chance that more than half of k attempts are right, over all ways to choose k of n; a tie counts half."""
    _check(n, c, k)
    ways = sum(
        (2 if 2 * right > k else 1) * math.comb(c, right) * math.comb(n - c, k - right)
        for right in range((k + 1) // 2, k + 1)
    )
    return ways / (2 * math.comb(n, k))


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"need 0 <= right attempts <= attempts, got {c} of {n}")
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and {n}, the number of attempts, got {k}")
