"""A set of 64-bit keys in 12 to 24 bytes each, where a Python set of integers needs a hundred."""

from __future__ import annotations

from array import array
from collections.abc import Iterator


class KeySet:
    """Keys of attempts: a table of slots, at most two thirds full. Keys are hashes, so the low bits name a slot."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * 1024))
        self._used = 0
        self._gone: set[int] = set()
        """Members that were taken out again; few, for a finished attempt seldom fails afterwards."""

    def add(self, key: int) -> None:
        self._gone.discard(key)
        if not self._slots[place := self._place(key)]:
            self._slots[place] = key or _ZERO
            self._used += 1
            if self._used * 3 > len(self._slots) * 2:
                earlier, self._slots = self._slots, array("Q", bytes(16 * len(self._slots)))
                for held in filter(None, earlier):
                    self._slots[self._place(held)] = held

    def discard(self, key: int) -> None:
        if key in self:
            self._gone.add(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and key not in self._gone and self._slots[self._place(key)] > 0

    def __len__(self) -> int:
        return self._used - len(self._gone)

    def __iter__(self) -> Iterator[int]:
        return (key for key in self._slots if key and key not in self._gone)

    def _place(self, key: int) -> int:
        """The slot that holds the key, or the empty one where it belongs."""
        slots, wanted = self._slots, key or _ZERO
        place = wanted & (len(slots) - 1)
        while (held := slots[place]) and held != wanted:
            place = (place + 1) & (len(slots) - 1)
        return place


_ZERO = 2**64 - 1
"""Stands for the key zero, which would look like an empty slot: one more chance in 2⁶⁴ that two keys are one."""
