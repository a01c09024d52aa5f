"""How long attempts took: the mean as it is, percentiles from values kept to three digits; memory does not grow."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from assay.reports.board.types import Latency

AT_ONCE = 10_000


class Latencies:
    """Seconds of many attempts, counted by their first three digits: a percentile is off by half a percent at most."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self._sum = 0.0
        self._number = 0
        self._waiting = array("d")
        """Not counted yet: many at a time are counted faster."""

    def add(self, seconds: float) -> None:
        waiting = self._waiting
        waiting.append(seconds)
        if len(waiting) >= AT_ONCE:
            self._count()

    def _count(self) -> None:
        seconds = np.array(self._waiting)
        self._sum += float(seconds.sum())
        self._number += len(seconds)
        distinct, counts = np.unique(_three_digits(seconds), return_counts=True)
        for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._counts[value] += count
        del self._waiting[:]

    @classmethod
    def together(cls, parts: Iterable[Latencies]) -> Latencies:
        """All of them as one."""
        all_of_them = cls()
        for part in parts:
            part._count()
            all_of_them._counts.update(part._counts)
            all_of_them._sum += part._sum
            all_of_them._number += part._number
        return all_of_them

    def summary(self) -> Latency | None:
        """In milliseconds; None when nothing was timed."""
        self._count()
        if not self._number:
            return None
        counted = sorted(self._counts.items())
        values = np.array([value for value, _ in counted])
        last_places = np.cumsum([count for _, count in counted]) - 1
        p50, p95 = (self._at(values, last_places, share) for share in (0.5, 0.95))
        return Latency(mean=_milliseconds(self._sum / self._number), p50=_milliseconds(p50), p95=_milliseconds(p95))

    def _at(self, values: np.ndarray, last_places: np.ndarray, share: float) -> float:
        """The value at this share of the way from the smallest to the largest, between two where it falls between."""
        place = share * (self._number - 1)
        below, above = values[np.searchsorted(last_places, [int(place), min(int(place) + 1, self._number - 1)])]
        return float(below + (above - below) * (place - int(place)))


def _three_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to their first three digits; 0 stays 0."""
    some = values[values > 0.0]
    last_digit = 10.0 ** (np.floor(np.log10(some)) - 2.0)
    rounded = np.zeros_like(values)
    rounded[values > 0.0] = np.rint(some / last_digit) * last_digit
    return rounded


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)
