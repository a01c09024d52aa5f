"""The Pareto front: the options that no other beats."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, ...]]) -> list[int]:
    """Indices of the points that none dominates, where more is better in every coordinate.

    A point is dominated by one that is no less in any coordinate and more in one; equal points stand together.
    """

    def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(more >= less for more, less in zip(one, other, strict=True))

    return [place for place, point in enumerate(points) if not any(dominates(each, point) for each in points)]
