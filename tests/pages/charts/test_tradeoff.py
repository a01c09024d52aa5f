"""Cost and latency against score, and who is on the front."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.pages.charts.conftest import VIEW

from assay.costs.spending import Cost
from assay.pages.charts.chart import Curve, Dot, Scale
from assay.pages.charts.tradeoff import tradeoff_charts
from assay.results.board.board_types import Latency
from assay.results.diff.paired_columns import Side
from assay.results.standings.standing_rows import Standings, standings_of

PRICES = {"good": 3.0, "poor": 0.01, "broken": 2.0}
"""Broken scores more than good, of what it answers, and costs less."""
COLOURS = {name: place for place, name in enumerate(PRICES)}


@pytest.fixture
def found(sides: list[tuple[str, Side]]) -> Standings:
    known = standings_of([side for _, side in sides], VIEW)
    models = [
        replace(
            row,
            cost=Cost(amount=PRICES[row.label], currency="USD"),
            latency=Latency(mean=1.0, p50=PRICES[row.label] * 1000, p95=9.0),
        )
        for row in known.models
    ]
    return replace(known, models=models)


def test_models_beaten_on_both_counts_are_hollow_and_off_the_line(found: Standings) -> None:
    cost, latency = tradeoff_charts(found, COLOURS)
    for chart in (cost, latency):
        dots = {dot.series: dot for dot in chart.marks if isinstance(dot, Dot)}
        assert dots["good"].hollow
        assert not dots["broken"].hollow
        assert not dots["poor"].hollow, "the cheapest"
        [front] = [mark for mark in chart.marks if isinstance(mark, Curve)]
        assert front.points == [(dots[name].x, dots[name].y) for name in ("poor", "broken")]
        assert isinstance(chart.x, Scale)
        assert chart.x.log, "from 0.01 to 3"


def test_a_model_without_a_price_is_left_out_and_one_alone_is_no_picture(found: Standings) -> None:
    unknown = [replace(row, cost=None) if row.label != "good" else row for row in found.models]
    assert [chart.name for chart in tradeoff_charts(replace(found, models=unknown), COLOURS)] == ["latency"]
