"""Many amounts, such as times or lengths, in bounded memory: an exact mean, and percentiles to three digits."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from assay.results.board.board_types import Latency

AT_ONCE = 10_000


class Amounts:
    """Amounts counted by their first three digits: a percentile is off by half a percent at most."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self._sum = 0.0
        self._number = 0
        self._waiting = array("d")
        """Not counted yet: counting many at a time is faster."""

    def add(self, amount: float) -> None:
        waiting = self._waiting
        waiting.append(amount)
        if len(waiting) >= AT_ONCE:
            self._count()

    @classmethod
    def together(cls, parts: Iterable[Amounts]) -> Self:
        combined = cls()
        for part in parts:
            part._count()
            combined._counts.update(part._counts)
            combined._sum += part._sum
            combined._number += part._number
        return combined

    @classmethod
    def of(cls, amounts: NDArray[np.float64]) -> Self:
        result = cls()
        result._take(amounts)
        return result

    def __len__(self) -> int:
        self._count()
        return self._number

    @property
    def mean(self) -> float | None:
        return self._sum / self._number if len(self) else None

    def frequencies(self) -> list[tuple[float, int]]:
        """Every amount, to three digits, with how often it occurs; the smallest first."""
        self._count()
        return sorted(self._counts.items())

    def percentiles(self, shares: Iterable[float]) -> list[float]:
        """The amounts at these shares of the way from the smallest to the largest; needs at least one amount."""
        frequencies = self.frequencies()
        values = np.array([value for value, _ in frequencies])
        last_places = np.cumsum([count for _, count in frequencies]) - 1
        return [self._at(values, last_places, share) for share in shares]

    def _count(self) -> None:
        if self._waiting:
            self._take(np.array(self._waiting))
            del self._waiting[:]

    def _take(self, amounts: NDArray[np.float64]) -> None:
        self._sum += float(amounts.sum())
        self._number += len(amounts)
        distinct, counts = np.unique(_three_digits(amounts), return_counts=True)
        for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            self._counts[value] += count

    def _at(self, values: NDArray[np.float64], last_places: NDArray[np.int64], share: float) -> float:
        """The amount at a share, interpolated where it falls between two."""
        place = share * (self._number - 1)
        below, above = values[np.searchsorted(last_places, [int(place), min(int(place) + 1, self._number - 1)])]
        return float(below + (above - below) * (place - int(place)))


class Latencies(Amounts):
    """Seconds of many attempts."""

    def summary(self) -> Latency | None:
        """In milliseconds; None when nothing was timed."""
        mean = self.mean
        if mean is None:
            return None
        p50, p95 = self.percentiles((0.5, 0.95))
        return Latency(mean=_milliseconds(mean), p50=_milliseconds(p50), p95=_milliseconds(p95))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _three_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rounded to their first three digits; 0 stays 0."""
    positive = values[values > 0.0]
    last_digit = 10.0 ** (np.floor(np.log10(positive)) - 2.0)
    rounded = np.zeros_like(values)
    rounded[values > 0.0] = np.rint(positive / last_digit) * last_digit
    return rounded
