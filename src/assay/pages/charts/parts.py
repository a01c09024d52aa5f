"""Where the uncertainty of each task comes from: one bar, in its parts."""

from __future__ import annotations

from collections.abc import Sequence

from assay.pages.charts.chart import Bands, Bar, Behind, Chart, Scale
from assay.results.board.board_types import Leaderboard
from assay.text.numbers import number, percent

_HALF = 0.32
"""Of the height of a row."""


def variance_chart(boards: Sequence[tuple[str, Leaderboard]]) -> Chart | None:
    """The squared standard error of every task, the parts in a row; None where no task was tried several times."""
    known = [
        (f"{label}: {row.task}" if len(boards) > 1 else row.task, row.variance)
        for label, board in boards
        for row in board.tasks
        if row.variance is not None and row.variance.parts
    ]
    if not known:
        return None
    series = list(dict.fromkeys(part.part for _, row in known for part in row.parts))
    marks, table = [], []
    for place, (name, row) in enumerate(known):
        start = 0.0
        for part in row.parts:
            tip = f"{name}: {percent(part.share)} of the squared standard error from {part.part}"
            ends = place - _HALF, place + _HALF
            marks.append(Bar(x=(start, start + part.share), y=ends, series=part.part, tip=tip))
            start += part.share
            table.append([name, part.part, percent(part.share), number(row.standard_error, 4), f"{part.requests:,}"])
    return Chart(
        name="variance",
        title="Where the uncertainty comes from",
        x=Scale(low=0.0, high=1.0, label="share of the squared standard error", form="percent"),
        y=Bands(names=[name for name, _ in known]),
        marks=marks,
        behind=Behind(
            header=["task", "part", "share", "standard error", "requests that halve the part"],
            rows=table,
            numeric_from=2,
        ),
        note=(
            "Samples: some are harder than others, and more samples help. Attempts: the same question is answered "
            "differently, and more samples or more attempts help."
        ),
        series=series,
        colours={name: slot for slot, name in enumerate(series)},
    )
