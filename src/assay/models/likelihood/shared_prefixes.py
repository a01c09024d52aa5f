"""Which rows of tokens to read together, so that what they begin with is read once by a model that keeps what it read.

grouped([[1, 2, 3, 9], [1, 2, 3, 8], [7, 7]], extra=0)   ->   Group(3, (1, 0)), Group(0, (2,))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

TokenRow = Sequence[int]
DEEPEST = 50
"""Groups within groups; deeper ones are read together."""


class Group(NamedTuple):
    """Rows, by their places, and how many tokens all of them begin with; rows alone share nothing."""

    shared: int
    rows: tuple[int, ...]


class _Plan(NamedTuple):
    tokens: int
    groups: tuple[Group, ...]


def grouped(rows: Sequence[TokenRow], extra: int) -> list[Group]:
    """Every row in exactly one group, such that few tokens are read; one more group costs `extra` tokens."""
    if not rows:
        return []
    order = sorted(range(len(rows)), key=lambda place: list(rows[place]))
    common = [common_length(rows[one], rows[other]) for one, other in pairwise(order)]
    return list(_planned(order, common, [len(row) for row in rows], extra, 0).groups)


def _planned(order: Sequence[int], common: Sequence[int], lengths: Sequence[int], extra: int, depth: int) -> _Plan:
    """One group, or those that the rows fall into where neighbours have the least in common: whichever reads less."""
    if len(order) == 1:
        return _Plan(lengths[order[0]], (Group(0, (order[0],)),))
    least = min(common)
    # rows that are equal are read once
    read = [
        lengths[place] - least for place, before in zip(order, (None, *common), strict=True) if before != lengths[place]
    ]
    together = _Plan(least + sum(read), (Group(least, tuple(order)),))
    if depth == DEEPEST:
        return together
    cuts = [0, *(place + 1 for place, each in enumerate(common) if each == least), len(order)]
    parts = [
        _planned(order[begin:end], common[begin : end - 1], lengths, extra, depth + 1) for begin, end in pairwise(cuts)
    ]
    apart = sum(part.tokens + extra for part in parts) - extra
    # what the parts have in common is kept from one to the next
    apart -= least * (len(parts) - 1)
    if apart < together.tokens:
        return _Plan(apart, tuple(group for part in parts for group in part.groups))
    return together


def common_length(one: TokenRow, other: TokenRow) -> int:
    """How many tokens both begin with."""
    least = min(len(one), len(other))
    if one[:least] == other[:least]:
        return least
    low, high = 0, least
    while low < high:  # slices are compared much faster than tokens one by one
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
