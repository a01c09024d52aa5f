"""A history of three runs, the last of them worse."""

from __future__ import annotations

from assay.results.board.board_types import ScoreInterval
from assay.results.history.history_types import History, HistoryRun, Step


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
        remaining=0,
        coverage=1.0,
        changes=["temperature 0 → 0.7"] if worse else [],
        compared=100 if place else 0,
        difference=score - 0.8 if place else None,
        reference=[f"nightly-{earlier}" for earlier in range(place)],
        verdict="worse" if worse else "nothing found" if place else "first",
        step=STEP if worse else None,
    )


STEP = Step(window=1, difference=-0.195, low=-0.28, high=-0.11, since=["nightly-2"], p_value=0.0004, alarm_level=0.0009)
FOUND = History(
    tasks=["gsm8k", "<b>mmlu</b>"],
    line="gpt-4o-mini",
    level=0.95,
    order="time",
    baseline=None,
    metrics={"gsm8k": "exact_match (numeric)", "<b>mmlu</b>": "choice_accuracy"},
    runs=[point(0, 0.8), point(1, 0.79), point(2, 0.6, worse=True)],
    trend=[0.8, 0.79, 0.6],
    shared=100,
)
