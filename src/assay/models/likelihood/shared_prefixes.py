"""Which rows of tokens begin alike, so that what they share is read once: pure, for whoever keeps keys and values.

grouped([[1, 2, 3, 9], [1, 2, 3, 8], [7, 7]], least=2)   ->   Group(shared=3, rows=(1, 0)), Group(shared=0, rows=(2,))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Row = Sequence[int]


class Group(NamedTuple):
    """Rows, by their places, and how many tokens all of them begin with; rows alone share nothing."""

    shared: int
    rows: tuple[int, ...]


def grouped(rows: Sequence[Row], least: int) -> list[Group]:
    """Every row in exactly one group; the rows of a group begin with at least `least` common tokens."""
    order = sorted(range(len(rows)), key=lambda place: list(rows[place]))
    common = [common_length(rows[one], rows[other]) for one, other in pairwise(order)]
    return list(_split(order, common, least))


def _split(order: list[int], common: list[int], least: int) -> Iterator[Group]:
    """In sorted order a stretch of rows shares as much as its least alike neighbours; where that is too little, cut."""
    begin = 0
    for place in range(len(order)):
        if place == len(common) or common[place] < least:
            rows = tuple(order[begin : place + 1])
            yield Group(min(common[begin:place], default=0), rows)
            begin = place + 1


def common_length(one: Row, other: Row) -> int:
    """How many tokens both begin with."""
    least = min(len(one), len(other))
    if one[:least] == other[:least]:
        return least
    low, high = 0, least
    while low < high:  # slices are compared much faster than tokens one by one
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
