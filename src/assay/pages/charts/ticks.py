"""Where the ticks of a scale are, and what is written at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from assay.pages.charts.chart import Scale
from assay.text import numbers


def ticks_of(scale: Scale, about: int = 5) -> list[tuple[float, str]]:
    """Round values inside the scale with their texts; about `about` of them."""
    if scale.names:
        every = math.ceil(len(scale.names) / about)
        return [(float(place + 1), scale.names[place]) for place in range(0, len(scale.names), every)]
    written = FORMS[scale.form]
    values = _log_ticks(scale, about) if scale.log else _linear_ticks(scale.low, scale.high, about)
    return [(value, written(value)) for value in values]


def padded(values: Sequence[float], *, log: bool = False, room: float = 0.06) -> tuple[float, float]:
    """The ends of a scale that holds all values with some room around them."""
    low, high = min(values), max(values)
    if log:
        if low == high:
            return low / 2.0, high * 2.0
        reach = (high / low) ** room
        return low / reach, high * reach
    if low == high:
        return low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    return low - room * (high - low), high + room * (high - low)


def padded_scores(scores: Sequence[float]) -> tuple[float, float]:
    """The same for scores: no room beyond 0 and 1 where none of them lies there."""
    low, high = padded(scores)
    return max(low, 0.0) if min(scores) >= 0.0 else low, min(high, 1.0) if max(scores) <= 1.0 else high


def round_ends(low: float, high: float) -> tuple[float, float]:
    """The ends moved outwards to round values."""
    step = _step(high - low, 5)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _linear_ticks(low: float, high: float, about: int) -> list[float]:
    step = _step(high - low, about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _step(width: float, about: int) -> float:
    rough = max(width, 1e-12) / max(about - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= rough * 0.999)


def _log_ticks(scale: Scale, about: int) -> list[float]:
    """Powers of ten, with 2 and 5 between them where there are few; every second power where there are many."""
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [10.0**power * step for power in range(first, last + 1) for step in steps]
        ticks = [value for value in ticks if scale.low * 0.999 <= value <= scale.high * 1.001]
        if len(ticks) <= about + 1:
            return ticks if len(ticks) > 1 else _linear_ticks(scale.low, scale.high, 3)
    every = math.ceil(len(ticks) / about)
    return ticks[::every]


FORMS: dict[str, Callable[[float], str]] = {
    "": numbers.short,
    "signed": numbers.short_signed,
    "seconds": numbers.seconds,
    "percent": numbers.percent,
}
