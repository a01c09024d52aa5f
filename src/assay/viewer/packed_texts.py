"""Many short texts in two arrays: their bytes one after the other, and how long each is. Matched all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
DENSE = 3
"""This many letters of a part are searched for everywhere, the rest only where these match."""


class PackedTexts:
    """A column of texts as UTF-8."""

    def __init__(self, lengths: NDArray[np.uint32], data: NDArray[np.uint8]) -> None:
        self.lengths = lengths
        self.data = data
        self._starts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, texts: Sequence[str]) -> PackedTexts:
        encoded = [text.encode(errors="replace") for text in texts]
        return cls.from_bytes(np.array([len(item) for item in encoded], np.uint32).tobytes(), b"".join(encoded))

    @classmethod
    def from_bytes(cls, lengths: bytes, data: bytes) -> PackedTexts:
        return cls(np.frombuffer(lengths, np.uint32), np.frombuffer(data, np.uint8))

    @classmethod
    def empty(cls, rows: int) -> PackedTexts:
        return cls(np.zeros(rows, np.uint32), np.zeros(0, np.uint8))

    @classmethod
    def joined(cls, parts: Sequence[PackedTexts]) -> PackedTexts:
        return cls(np.concatenate([part.lengths for part in parts]), np.concatenate([part.data for part in parts]))

    def first(self, rows: int) -> PackedTexts:
        return PackedTexts(self.lengths[:rows], self.data)

    def __len__(self) -> int:
        return len(self.lengths)

    def equal(self, text: str) -> Mask:
        wanted = text.encode(errors="replace")
        rows = np.flatnonzero(self.lengths == len(wanted))
        return self._mask(rows[self._holds(rows, self._begins()[rows], wanted)])

    def like(self, parts: Sequence[str]) -> Mask:
        """Begins with the first part, ends with the last, with the others between them in this order."""
        head, *inner, tail = [part.encode(errors="replace") for part in parts]
        at = self._between(head, tail) if head or tail else self._begins()
        for part in filter(None, inner):
            at = self._after_next(part, at, len(tail))
        return at >= 0

    def _between(self, head: bytes, tail: bytes) -> NDArray[np.int64]:
        """Where the next part may begin; −1 for rows that do not begin and end so."""
        rows = np.flatnonzero(self.lengths >= len(head) + len(tail))
        starts = self._begins()
        rows = rows[self._holds(rows, starts[rows], head)]
        rows = rows[self._holds(rows, starts[rows] + self.lengths[rows] - len(tail), tail)]
        at = np.full(len(self), -1, np.int64)
        at[rows] = starts[rows] + len(head)
        return at

    def _after_next(self, part: bytes, at: NDArray[np.int64], reserved: int) -> NDArray[np.int64]:
        """Behind the first place of this part in each row that is still in; the reserved end is not searched."""
        places = self._places(part)
        rows = np.searchsorted(self._begins(), places, side="right") - 1
        ends = self._begins()[rows] + self.lengths[rows] - reserved
        fits = (at[rows] >= 0) & (places >= at[rows]) & (places + len(part) <= ends)
        matching, first = np.unique(rows[fits], return_index=True)
        after = np.full(len(self), -1, np.int64)
        after[matching] = places[fits][first] + len(part)
        return after

    def _places(self, part: bytes) -> NDArray[np.int64]:
        """Everywhere in the bytes."""
        if len(self.data) < len(part):
            return np.zeros(0, np.int64)
        last = len(self.data) - len(part) + 1
        begins = self.data[:last] == part[0]
        for offset, byte in enumerate(part[1:DENSE], 1):  # whole columns at once, until little is left to look at
            begins &= self.data[offset : last + offset] == byte
        places = np.flatnonzero(begins)
        for offset, byte in enumerate(part[DENSE:], DENSE):
            places = places[self.data[places + offset] == byte]
        return places

    def _holds(self, rows: NDArray[Any], starts: NDArray[Any], wanted: bytes) -> Mask:
        """Whether these bytes stand at these places; every row is long enough."""
        if not wanted or not len(rows):
            return np.ones(len(rows), bool)
        windows = sliding_window_view(self.data, len(wanted))
        mask: Mask = (windows[starts] == np.frombuffer(wanted, np.uint8)).all(axis=1)
        return mask

    def _begins(self) -> NDArray[np.int64]:
        if self._starts is None:
            self._starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        return self._starts

    def _mask(self, rows: NDArray[Any]) -> Mask:
        mask = np.zeros(len(self), bool)
        mask[rows] = True
        return mask
