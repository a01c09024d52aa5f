"""Models against a baseline and against each other: signs only where the corrected tests find something."""

from __future__ import annotations

import pytest
from tests.pages.charts.conftest import VIEW

from assay.pages.charts.chart import Tile
from assay.pages.charts.matrices import heatmap_chart, wins_chart
from assay.results.diff.comparison import paired_diff
from assay.results.diff.paired_columns import Side
from assay.results.standings.against import against_baseline
from assay.results.standings.standing_rows import Standings, standings_of

Named = list[tuple[str, Side]]


@pytest.fixture(scope="module")
def found(sides: Named) -> Standings:
    return standings_of([side for _, side in sides], VIEW)


def tiles(chart: object) -> dict[tuple[int, int], Tile]:
    return {(mark.row, mark.column): mark for mark in chart.marks if isinstance(mark, Tile)}  # type: ignore[attr-defined]


def test_cells_are_the_differences_of_diff_corrected_for_all_of_them(sides: Named) -> None:
    cells = against_baseline(sides, "good", VIEW)
    assert [(cell.model, cell.task) for cell in cells] == [
        (model, task) for model in ("poor", "broken") for task in ("more sums", "sums")
    ]
    diff = paired_diff(sides[0][1], sides[1][1], VIEW, samples=0)
    for cell, task in zip(cells, diff.tasks, strict=False):
        assert task.comparison is not None
        assert cell.difference == task.comparison.difference
        assert cell.adjusted_p is not None
        assert task.adjusted_p is not None
        assert cell.adjusted_p >= task.adjusted_p, "four comparisons are corrected for, not two"
    assert [cell.significant for cell in cells] == [True, True, False, False]


def test_the_heatmap_begins_with_the_baseline_and_marks_what_is_significant(sides: Named, found: Standings) -> None:
    chart = heatmap_chart(found, against_baseline(sides, "good", VIEW), "good", 0.95)
    assert chart is not None
    drawn = tiles(chart)
    assert chart.y.names[0] == "good"  # type: ignore[union-attr]
    assert drawn[0, 0].level == 0.0
    poor = chart.y.names.index("poor")  # type: ignore[union-attr]
    assert drawn[poor, 0].strong
    assert drawn[poor, 0].text.endswith("▼")
    assert drawn[poor, 0].level == -1.0
    broken = chart.y.names.index("broken")  # type: ignore[union-attr]
    assert not drawn[broken, 0].strong


def test_who_wins_is_counted_over_shared_samples_and_agrees_with_the_ranks(found: Standings) -> None:
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    pair = pairs["poor", "good"]
    assert (pair.wins, pair.losses) == (0, 24), "of the 15 that poor misses, good misses one and broken lacks two"
    assert pair.wins + pair.losses + pair.ties == 76
    assert pair.significant
    ranks = {row.label: (row.rank_low, row.rank_high) for row in found.models}
    assert ranks["poor"][0] > ranks["good"][1]


def test_the_win_matrix_reads_the_same_from_both_sides(found: Standings) -> None:
    chart = wins_chart(found)
    assert chart is not None
    drawn = tiles(chart)
    for row in range(3):
        assert drawn[row, row].text == ""
        for column in range(row):
            assert drawn[row, column].level == pytest.approx(-drawn[column, row].level)


def test_one_model_has_neither(sides: Named) -> None:
    alone = standings_of([sides[0][1]], VIEW)
    assert heatmap_chart(alone, [], "good", 0.95) is None
    assert wins_chart(alone) is None
