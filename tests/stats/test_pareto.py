"""The front holds exactly the points that no other beats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.stats.pareto import pareto_front

POINTS = st.lists(st.tuples(st.integers(0, 8).map(float), st.integers(0, 8).map(float)), max_size=12)


@given(POINTS)
def test_the_front_is_what_nothing_dominates(points: list[tuple[float, float]]) -> None:
    def beaten(first: float, second: float) -> bool:
        return any(a >= first and b >= second and (a, b) != (first, second) for a, b in points)

    assert pareto_front(points) == [place for place, point in enumerate(points) if not beaten(*point)]


def test_every_coordinate_counts() -> None:
    assert pareto_front([(1.0, 1.0, 0.0), (1.0, 0.0, 1.0), (1.0, 0.0, 0.0), (1.0, 1.0, 0.0)]) == [0, 1, 3]
