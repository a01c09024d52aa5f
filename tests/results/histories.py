"""A history of three runs, the last of them worse."""

from __future__ import annotations

from assay.results.board.board_types import ScoreInterval
from assay.results.history.history_types import History, HistoryRun


def point(place: int, score: float, *, worse: bool = False) -> HistoryRun:
    return HistoryRun(
        run=f"nightly-{place}",
        model="gpt-4o-mini",
        created=f"2026-01-{place + 1:02d}T08:00:00Z",
        commit="0" * 40,
        score=score,
        interval=ScoreInterval(low=score - 0.05, high=score + 0.05, level=0.95),
        scored=100,
        failed=0,
        changes=["temperature 0 → 0.7"] if worse else [],
        compared=100 if place else None,
        difference=score - 0.8 if place else None,
        adjusted_p=(0.001 if worse else 1.0) if place else None,
        worse=worse,
    )


FOUND = History(
    tasks=["gsm8k", "<b>mmlu</b>"],
    level=0.95,
    order="time",
    baseline="nightly-0",
    comparisons=2,
    first_worse="nightly-2",
    runs=[point(0, 0.8), point(1, 0.79), point(2, 0.6, worse=True)],
)
