"""A limit that several workers use up together, lent out in pieces: what is lent never adds up to more than there is.

A worker that has used half of its last piece gets another; what it leaves unused comes back when it is done. What a
lost worker had left counts as used, since that cannot be known.
"""

from __future__ import annotations

SMALLEST_PIECE = 0.02
"""Of the limit. With less than this left nothing more is lent: the last answers in flight would overdraw it."""


class Leases:
    """One limit and who holds how much of it. Without a limit there is nothing to lend and nothing runs out."""

    def __init__(self, limit: float | None, used: float = 0.0) -> None:
        self._limit = limit
        self._left = (limit or 0.0) - used
        self._lent: dict[int, float] = {}
        self._piece: dict[int, float] = {}

    @property
    def used_up(self) -> bool:
        return self._limit is not None and self._left < SMALLEST_PIECE * self._limit

    def lend(self, worker: int, used: float, workers: int) -> float | None:
        """All that the worker may have used in the end, as far as it knows until it asks again."""
        if self._limit is None:
            return None
        lent = self._lent.setdefault(worker, 0.0)
        if not self.used_up and lent - used <= self._piece.get(worker, 0.0) / 2:
            piece = min(self._left, max(self._left / (2 * max(workers, 1)), SMALLEST_PIECE * self._limit))
            self._left -= piece
            self._piece[worker] = piece
            self._lent[worker] = lent = lent + piece
        return lent

    def give_back(self, worker: int, used: float) -> None:
        """What the worker holds and has not used; one that used more than it was lent has no more to give."""
        if self._limit is not None and worker in self._lent:
            self._left += self._lent[worker] - used
            self._lent[worker] = used
            self._piece[worker] = 0.0
