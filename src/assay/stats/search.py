"""The smallest number for which a rising condition holds."""

from __future__ import annotations

from collections.abc import Callable

_STEPS = 40


def smallest(holds: Callable[[float], bool], largest: float) -> float | None:
    """Between 0 and `largest`, by bisection; None where it does not even hold there."""
    if not holds(largest):
        return None
    low, high = 0.0, largest
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def fewest(holds: Callable[[int], bool], *, least: int = 1) -> int:
    """A whole number from `least` up, for a condition that holds for every large number."""
    high = least
    while not holds(high):
        high *= 2
    low = max(least - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
