"""The pace of a run: attempts and failures over time, and the duration, length and cost of each attempt."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from assay.results.board.amounts import Amounts

BUCKETS = 48
PAUSE_SECONDS = 600.0
"""A longer pause means that the run was interrupted: the time is left out."""


@dataclass(slots=True)
class Pace:
    """Filled one attempt at a time."""

    seconds: Amounts = field(default_factory=Amounts)
    characters: Amounts = field(default_factory=Amounts)
    """Of the answer."""
    tokens: Amounts = field(default_factory=Amounts)
    """That the model wrote, where it counts them."""
    finished: array[float] = field(default_factory=lambda: array("d"))
    failed: bytearray = field(default_factory=bytearray)
    """Of those with a time, whether they failed."""

    def add(
        self, seconds: float, answer: str | None, tokens: int | None, finished: float | None, *, failed: bool
    ) -> None:
        self.seconds.add(seconds)
        if answer is not None:
            self.characters.add(len(answer))
        if tokens:
            self.tokens.add(tokens)
        if finished is not None:
            self.finished.append(finished)
            self.failed.append(failed)


class Timeline(Struct, frozen=True, kw_only=True):
    """Attempts by when they ended, in equal parts of the run's duration."""

    bucket_seconds: float
    made: list[int]
    """Failed ones included."""
    failed: list[int]
    pauses: int
    """Pauses that were left out."""


def timeline_of_all(paces: Collection[Pace]) -> Timeline | None:
    """The timeline of a run whose tasks have these paces."""
    times = [np.frombuffer(pace.finished, dtype=np.float64) for pace in paces]
    failed = [np.frombuffer(bytes(pace.failed), dtype=np.bool_) for pace in paces]
    return timeline_of(np.concatenate(times), np.concatenate(failed))


def timeline_of(finished: NDArray[np.float64], failed: NDArray[np.bool_]) -> Timeline | None:
    """The timeline of a run; None for fewer than two attempts with a time."""
    if len(finished) < 2:
        return None
    order = np.argsort(finished, kind="stable")
    times, failures = finished[order], failed[order]
    steps = np.diff(times, prepend=times[0])
    pauses = steps > PAUSE_SECONDS
    worked = np.cumsum(np.where(pauses, 0.0, steps))
    width = max(float(worked[-1]), 1e-3) / BUCKETS
    places = np.minimum((worked / width).astype(np.int64), BUCKETS - 1)
    return Timeline(
        bucket_seconds=width,
        made=np.bincount(places, minlength=BUCKETS).tolist(),
        failed=np.bincount(places[failures], minlength=BUCKETS).tolist(),
        pauses=int(pauses.sum()),
    )
