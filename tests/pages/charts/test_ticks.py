"""Ticks are round, inside, few, and written short."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.pages.charts.chart import Scale
from assay.pages.charts.ticks import padded, ticks_of


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(3, 8))
def test_ticks_lie_inside_the_scale_and_are_about_as_many_as_asked_for(low: float, width: float, about: int) -> None:
    scale = Scale(low=low, high=low + width)
    values = [value for value, _ in ticks_of(scale, about)]
    assert all(scale.low - 1e-6 * width <= value <= scale.high + 1e-6 * width for value in values)
    assert 1 <= len(values) <= about + 1


@given(st.floats(1e-6, 1e6), st.floats(1.5, 1e8))
def test_ticks_of_a_log_scale_lie_inside_too(low: float, factor: float) -> None:
    scale = Scale(low=low, high=low * factor, log=True)
    values = [value for value, _ in ticks_of(scale)]
    assert values
    assert all(scale.low * 0.99 <= value <= scale.high * 1.01 for value in values)


def test_ticks_are_round() -> None:
    assert [text for _, text in ticks_of(Scale(low=0.0, high=1.0))] == ["0", "0.25", "0.5", "0.75", "1"]
    assert [text for _, text in ticks_of(Scale(low=0.5, high=2000.0, log=True))] == ["1", "10", "100", "1k"]
    assert [text for _, text in ticks_of(Scale(low=-0.2, high=0.2, form="signed"))] == [
        "-0.2",
        "-0.1",
        "0",
        "+0.1",
        "+0.2",
    ]


def test_a_single_value_has_room_around_it() -> None:
    for log in (False, True):
        low, high = padded([3.0], log=log)
        assert low < 3.0 < high
