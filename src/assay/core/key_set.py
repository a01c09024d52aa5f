"""A set of 64-bit keys in 12 to 24 bytes each, where a Python set of integers needs a hundred."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class KeySet:
    """Keys of attempts: a table of slots, at most two thirds full. Keys are hashes, so the low bits name a slot."""

    def __init__(self, expected: int = 0) -> None:
        """Reserving room for this many keys at the start saves the time of growing the table."""
        self._used = 0
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
                self._slots[self._place(held)] = held
        return True

    def __contains__(self, key: object) -> bool:
        slots, wanted = self._slots, key or _ZERO
        place = wanted & self._mask  # type: ignore[operator]  # only numbers are asked for
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

    def _place(self, wanted: int) -> int:
        """The slot that holds the key, or the empty one where it belongs."""
        slots, mask = self._slots, self._mask
        place = wanted & mask
        while (held := slots[place]) and held != wanted:
            place = (place + 1) & mask
        return place


_ZERO = 2**64 - 1
"""Stands for the key zero, which would look like an empty slot: one more chance in 2⁶⁴ that two keys are one."""
