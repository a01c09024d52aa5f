"""Distributions on a log scale: every attempt in one bar, percentiles as the leaderboard has them."""

from __future__ import annotations

import numpy as np
import pytest

from assay.pages.charts.chart import Bar, Dot, Scale
from assay.pages.charts.spreads import LATENCY, spread_chart, spread_charts
from assay.results.board.amounts import Amounts
from assay.results.diff.paired_columns import Side


def test_bars_hold_every_amount_above_zero_once() -> None:
    amounts = Amounts.of(np.array([0.0, 0.5, 0.5, 5.0, 50.0]))
    chart = spread_chart(LATENCY, {"a": amounts}, {"a": 0})
    assert chart is not None
    bars = [mark for mark in chart.marks if isinstance(mark, Bar)]
    assert len(bars) == 3
    assert all(
        low <= value * 1.01 and value < high * 1.01
        for bar, value in zip(bars, (0.5, 5.0, 50.0), strict=True)
        for low, high in [bar.x]
    )
    heights = [bar.y[0] - bar.y[1] for bar in bars]
    assert heights[0] == pytest.approx(2 * heights[1])
    assert isinstance(chart.x, Scale)
    assert chart.x.log


def test_nothing_above_zero_is_no_picture() -> None:
    assert spread_chart(LATENCY, {"a": Amounts.of(np.zeros(3))}, {}) is None


def test_the_median_is_that_of_the_leaderboard(sides: list[tuple[str, Side]]) -> None:
    label, side = sides[0]
    charts = {chart.name: chart for chart in spread_charts({label: list(side.paces.values())}, {label: 0})}
    assert {"latency-spread", "length-spread"} <= set(charts)
    median = next(mark for mark in charts["latency-spread"].marks if isinstance(mark, Dot) and not mark.hollow)
    assert side.board.latency is not None
    assert median.x * 1000 == pytest.approx(side.board.latency.p50, abs=0.001)
