"""Which of several options no other beats on both counts: less to pay, more to get."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Places of the (cost, value) points that none dominates, from the cheapest on.

    A point is dominated by one that costs no more and is worth no less, and is better in one of the two; equal points
    stand together.
    """
    order = sorted(range(len(points)), key=lambda place: (points[place][0], -points[place][1]))
    front: list[int] = []
    for place in order:
        cost, value = points[place]
        if not front or value > points[front[-1]][1] or (cost, value) == points[front[-1]]:
            front.append(place)
    return front
