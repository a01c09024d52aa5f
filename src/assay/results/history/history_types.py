"""The shape of a history: what `assay history --json` writes."""

from __future__ import annotations

from msgspec import Struct

from assay.results.board.board_types import ScoreInterval
from assay.stats.intervals import Interval


class HistoryRun(Struct, frozen=True, kw_only=True):
    """One run of the history."""

    run: str
    model: str
    created: str
    commit: str
    """Of the checkout that the run was made in; empty outside of one."""
    score: float | None
    interval: ScoreInterval | None
    scored: int
    failed: int
    changes: list[str]
    """What changed since the run before: model, prompt, questions, scoring, settings, versions."""
    compared: int | None = None
    """Pairs of attempts with the baseline; None for the baseline itself."""
    difference: float | None = None
    """From the baseline, over those pairs; negative is worse."""
    difference_interval: Interval | None = None
    adjusted_p: float | None = None
    """One-sided, on the side of a drop, corrected by Holm over all runs."""
    worse: bool = False
    """Significantly worse than the baseline."""


class History(Struct, frozen=True, kw_only=True):
    """Runs of one set of tasks, the earliest first."""

    tasks: list[str]
    level: float
    order: str
    """`time` or `commit`."""
    baseline: str
    comparisons: int
    """Comparisons with the baseline that the p-values are corrected for."""
    first_worse: str | None
    """The earliest run that is significantly worse than the baseline."""
    runs: list[HistoryRun]
    notes: list[str] = []
