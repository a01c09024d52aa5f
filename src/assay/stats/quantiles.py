"""The few distribution functions that the intervals and tests need, so that scipy is not a dependency.

All are accurate to at least nine digits; the tests compare them with scipy.
"""

from __future__ import annotations

import math
from functools import lru_cache

OF_95_PERCENT = 1.9599639845400536
"""`normal_quantile(0.975)`, the only one that most runs need."""
_TINY = 1e-300


def normal_quantile(p: float) -> float:
    """The z below which a standard normal falls with probability p."""
    if p == 0.975:
        return OF_95_PERCENT
    from statistics import NormalDist  # takes as long to import as a small run to score

    return NormalDist().inv_cdf(p)


def normal_cdf(z: float) -> float:
    """The probability that a standard normal falls below z; accurate in both tails."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@lru_cache(maxsize=256)
def student_t_quantile(p: float, degrees: float) -> float:
    """The t below which Student's t with that many degrees of freedom falls with probability p."""
    if not 0.0 < p < 1.0 or not degrees > 0.0:
        raise ValueError(f"need 0 < p < 1 and degrees > 0, got p={p}, degrees={degrees}")
    if p == 0.5:
        return 0.0
    return -_upper_t(p, degrees) if p < 0.5 else _upper_t(1.0 - p, degrees)


def student_t_tail(t: float, degrees: float) -> float:
    """The probability that Student's t exceeds t, for t >= 0."""
    return 0.5 * incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # the fraction converges fast only on this side of the mean
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def f_quantile(p: float, first: float, second: float) -> float:
    """The quantile of the ratio of two mean squares with these degrees of freedom."""
    low, high = 0.0, 1.0
    for _ in range(60):  # of the beta distribution that it follows
        middle = (low + high) / 2.0
        low, high = (middle, high) if incomplete_beta(middle, first / 2.0, second / 2.0) < p else (low, middle)
    return high / (1.0 - high) * second / first


def chi_squared_quantile(p: float, degrees: float) -> float:
    """The quantile of the sum of squares of this many normal numbers."""
    low, high = 0.0, 1.0
    while _chi_squared_cdf(high, degrees) < p:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _chi_squared_cdf(middle, degrees) < p else (low, middle)
    return high


def _chi_squared_cdf(x: float, degrees: float) -> float:
    a, x = degrees / 2.0, x / 2.0
    term = total = math.exp(a * math.log(x) - x - math.lgamma(a + 1.0)) if x else 0.0
    step = a
    while term > 1e-17 * total:
        step += 1.0
        term *= x / step
        total += term
    return total


def binomial_half_tail(k: int, n: int) -> float:
    """P(X <= k) for X ~ Binomial(n, 1/2) and k <= n/2: exact integers at first, log space beyond."""
    if n <= 1000:
        return sum(math.comb(n, i) for i in range(k + 1)) / (1 << n)
    term = total = 1.0
    for i in range(k, 0, -1):
        term *= i / (n - i + 1)
        total += term
        if term < 1e-18 * total:
            break
    return total * _binomial_half_mass(k, n)


def _upper_t(tail: float, degrees: float) -> float:
    if degrees > 1000.0:
        return _cornish_fisher_t(-normal_quantile(tail), degrees)
    low, high = 0.0, 1.0
    while student_t_tail(high, degrees) > tail:
        low, high = high, high * 2.0
    log_scale = math.lgamma((degrees + 1.0) / 2.0) - math.lgamma(degrees / 2.0) - 0.5 * math.log(degrees * math.pi)
    t = 0.5 * (low + high)
    for _ in range(200):
        excess = student_t_tail(t, degrees) - tail
        low, high = (t, high) if excess > 0.0 else (low, t)
        density = math.exp(log_scale - (degrees + 1.0) / 2.0 * math.log1p(t * t / degrees))
        step = t + excess / density
        # Newton where it stays inside the bracket, halving where it does not
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - t) <= 1e-14 * max(1.0, abs(t)):
            return following
        t = following
    return t


def _cornish_fisher_t(z: float, degrees: float) -> float:
    # Abramowitz & Stegun 26.7.5; beyond a thousand degrees the next term is under 1e-12
    g1 = (z**3 + z) / 4.0
    g2 = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    g3 = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    g4 = (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0
    return z + g1 / degrees + g2 / degrees**2 + g3 / degrees**3 + g4 / degrees**4


def _beta_fraction(x: float, a: float, b: float) -> float:
    # modified Lentz evaluation
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _binomial_half_mass(k: int, n: int) -> float:
    # saddle-point form (Loader 2000): no difference of huge logarithms, so no lost digits
    if k == 0:
        return math.exp(-n * math.log(2.0))
    rest = n - k
    log_mass = _stirling_error(n) - _stirling_error(k) - _stirling_error(rest)
    log_mass -= _deviance(k, n / 2.0) + _deviance(rest, n / 2.0)
    return math.exp(log_mass) * math.sqrt(n / (2.0 * math.pi * k * rest))


def _stirling_error(n: int) -> float:
    """log(n!) minus Stirling's approximation of it."""
    if n <= 15:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
    square = float(n) * n
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square) / n


def _deviance(x: float, mean: float) -> float:
    """x log(x/mean) + mean - x, without cancellation near x = mean."""
    if abs(x - mean) >= 0.1 * (x + mean):
        return x * math.log(x / mean) + mean - x
    v = (x - mean) / (x + mean)
    total = (x - mean) * v
    power = 2.0 * x * v
    for j in range(1, 1000):
        power *= v * v
        following = total + power / (2 * j + 1)
        if following == total:
            break
        total = following
    return total
