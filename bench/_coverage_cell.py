"""One row of the coverage page: a method of the product on one shape of data, at several sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Interval

LEVEL = 0.95
ONE_SIDE = 0.025
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Random = np.random.Generator
Asks = Literal["covers", "errs", "finds"]
SHORT, LOUD = 0.02, 0.01
"""An interval that covers less than promised by more than this, or a test that errs more often by more than this,
fails."""
FAR = 0.05
"""So much less power than promised fails."""


class Outcome(NamedTuple):
    """What came of one data set."""

    hit: bool | None
    """Whether the interval holds the truth, or the test finds something; None where there is no interval."""
    width: float = 0.0
    student: float = 0.0
    """What Student's t has in its place: a width, or 1 where it finds something."""


Trial = Callable[[Random], Outcome]


class Row(NamedTuple):
    """A method, the data that it was tried on, and what it promises."""

    section: str
    method: str
    data: str
    asks: Asks
    promised: float | None
    """None where nothing is promised and the figure is for information."""
    trials: dict[str, Trial]
    """By the number of samples, or how they are divided."""
    sets: int = 4000
    why: str = ""
    """Why it falls short of the promise, or goes far beyond it."""


class Measured(NamedTuple):
    """How often it covered, erred or found something."""

    share: float
    sets: int
    none: float
    """In which share of the data sets there was no interval."""
    beside: float | None
    """The width as a multiple of Student's t, or the share that Student's t has."""

    @property
    def error(self) -> float:
        return math.sqrt(max(self.share * (1.0 - self.share), 0.25 / self.sets) / max(1, self.sets))


def measure(row: Row, size: str, sets: int) -> Measured:
    """Seeded by what the row is, so that another row changes none."""
    random = np.random.default_rng([20261119, crc32(f"{row.section} {row.method} {row.data} {size}".encode())])
    outcomes = [row.trials[size](random) for _ in range(sets)]
    known = [each for each in outcomes if each.hit is not None]
    beside = None
    if (student := math.fsum(each.student for each in known)) > 0.0 and row.asks == "covers":
        beside = math.fsum(each.width for each in known) / student
    elif row.asks != "covers" and any(each.student >= 0.0 for each in known) and any(each.width for each in known):
        beside = student / len(known)
    share = sum(bool(each.hit) for each in known) / max(1, len(known))
    return Measured(share, len(known), 1.0 - len(known) / sets, beside)


def fails(row: Row, share: float) -> bool:
    """Whether it misses what it promises by so much that it has to be said."""
    if row.promised is None:
        return False
    if row.asks == "errs":
        return share > row.promised + LOUD
    return share < row.promised - (SHORT if row.asks == "covers" else FAR)


def holds(interval: Interval, truth: float, student: Interval | None = None) -> Outcome:
    if interval.low is None or interval.high is None:
        return Outcome(None)
    hit = interval.low - 1e-12 <= truth <= interval.high + 1e-12
    if student is None or student.low is None or student.high is None:
        return Outcome(hit)
    return Outcome(hit, interval.high - interval.low, student.high - student.low)


def found(hit: bool, by_student: bool) -> Outcome:
    """A verdict, beside that of Student's t."""
    return Outcome(hit, 1.0, float(by_student))
