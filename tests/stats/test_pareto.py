"""The front holds exactly the points that no other beats."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.stats.pareto import pareto_front

POINTS = st.lists(st.tuples(st.integers(0, 8).map(float), st.integers(0, 8).map(float)), max_size=12)


@given(POINTS)
def test_the_front_is_what_nothing_dominates(points: list[tuple[float, float]]) -> None:
    def beaten(cost: float, value: float) -> bool:
        return any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in points)

    assert sorted(pareto_front(points)) == [place for place, point in enumerate(points) if not beaten(*point)]


def test_the_front_goes_from_the_cheapest_to_the_best() -> None:
    assert pareto_front([(5.0, 0.9), (1.0, 0.5), (3.0, 0.4), (2.0, 0.7)]) == [1, 3, 0]
