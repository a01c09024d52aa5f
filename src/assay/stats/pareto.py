"""The Pareto front: the options that no other beats on both cost and value."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the (cost, value) points that none dominates, from the cheapest on.

    A point is dominated by one that costs no more and is worth no less, and is better in one of the two; equal points
    stand together.
    """
    front: list[int] = []
    for index in sorted(range(len(points)), key=lambda index: (points[index][0], -points[index][1])):
        if not front or points[index][1] > points[front[-1]][1] or points[index] == points[front[-1]]:
            front.append(index)
    return front
