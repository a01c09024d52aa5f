"""Groups rows of tokens, so that a model with a cache reads what the rows of a group begin with only once.

grouped([[1, 2, 3, 9], [1, 2, 3, 8], [7, 7]], extra=0)   ->   Group(3, (1, 0)), Group(0, (2,))
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

TokenRow = Sequence[int]
DEEPEST = 50
"""The maximum depth of groups within groups."""


class Group(NamedTuple):
    """Rows, by their index, and how many tokens all of them begin with; 0 for a single row."""

    shared: int
    rows: tuple[int, ...]


class _Plan(NamedTuple):
    tokens: int
    groups: tuple[Group, ...]


def grouped(rows: Sequence[TokenRow], extra: int) -> list[Group]:
    """Every row in exactly one group, so that few tokens are read; each further group costs `extra` tokens."""
    if not rows:
        return []
    order = sorted(range(len(rows)), key=lambda index: list(rows[index]))
    common = [common_length(rows[index], rows[following]) for index, following in pairwise(order)]
    return list(_plan(order, common, [len(row) for row in rows], extra, 0).groups)


def _plan(order: Sequence[int], common: Sequence[int], lengths: Sequence[int], extra: int, depth: int) -> _Plan:
    """One group, or the rows split where neighbours have the least in common: whichever reads fewer tokens."""
    if len(order) == 1:
        return _Plan(lengths[order[0]], (Group(0, (order[0],)),))
    least = min(common)
    # equal rows are read once
    read = [
        lengths[index] - least for index, before in zip(order, (None, *common), strict=True) if before != lengths[index]
    ]
    together = _Plan(least + sum(read), (Group(least, tuple(order)),))
    if depth == DEEPEST:
        return together
    cuts = [0, *(place + 1 for place, length in enumerate(common) if length == least), len(order)]
    parts = [
        _plan(order[begin:end], common[begin : end - 1], lengths, extra, depth + 1) for begin, end in pairwise(cuts)
    ]
    apart = sum(part.tokens + extra for part in parts) - extra
    # what the parts have in common stays in the cache from one to the next
    apart -= least * (len(parts) - 1)
    if apart < together.tokens:
        return _Plan(apart, tuple(group for part in parts for group in part.groups))
    return together


def common_length(left: TokenRow, right: TokenRow) -> int:
    """How many tokens both begin with."""
    least = min(len(left), len(right))
    if left[:least] == right[:least]:
        return least
    low, high = 0, least
    while low < high:  # comparing slices is much faster than comparing tokens one by one
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[:middle] == right[:middle] else (low, middle - 1)
    return low
