"""A set of 64-bit keys in 12 to 24 bytes each, where a Python set of integers needs a hundred."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class KeySet:
    """Keys of attempts: a table of slots, at most two thirds full. Keys are hashes, so the low bits name a slot."""

    def __init__(self, expected: int = 0) -> None:
        """`expected` keys fit without growing the table, which takes time."""
        self._make_slots(max(1024, 1 << (expected * 3 // 2).bit_length()))

    def add(self, key: int) -> bool:
        """Add the key; return whether it is new."""
        slots, wanted = self._slots, key or _ZERO
        place = wanted & self._mask
        while held := slots[place]:
            if held == wanted:
                return False
            place = (place + 1) & self._mask
        slots[place] = wanted
        self._used += 1
        if self._used > self._most:
            self._make_slots(2 * len(slots))
            for held in filter(None, slots):
                self.add(held)
        return True

    def __contains__(self, key: object) -> bool:
        slots, wanted = self._slots, key or _ZERO
        place = wanted & self._mask  # type: ignore[operator]  # keys are numbers
        while held := slots[place]:
            if held == wanted:
                return True
            place = (place + 1) & self._mask
        return False

    def __len__(self) -> int:
        return self._used

    def __iter__(self) -> Iterator[int]:
        return filter(None, self._slots)

    def _make_slots(self, count: int) -> None:
        self._slots = array("Q", bytes(8 * count))
        self._mask = count - 1
        self._most = 2 * count // 3
        self._used = 0


_ZERO = 2**64 - 1
"""Stands for the key zero, which would look like an empty slot: adds one chance in 2⁶⁴ of a collision."""
