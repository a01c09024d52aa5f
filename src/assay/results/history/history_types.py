"""The shape of a history: what `assay history --json` writes."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from assay.results.board.board_types import ScoreInterval
from assay.stats.paired_evidence import Basis

RunVerdict = Literal["first", "worse", "better", "nothing found", "cannot tell", "not compared"]


class HistoryRun(Struct, frozen=True, kw_only=True):
    """One run of the history, and what is said of it. Later runs never change that."""

    run: str
    model: str
    created: str
    commit: str
    """Of the checkout that the run was made in; empty outside of one."""
    score: float | None
    interval: ScoreInterval | None
    scored: int
    failed: int
    remaining: int
    coverage: float
    """The share of the tasks' samples that were scored, whatever the run was limited to."""
    changes: list[str]
    """What changed since the run before: model, prompt, questions, scoring, settings, versions."""
    verdict: RunVerdict = "first"
    reason: str = ""
    """Why there is no verdict, or no comparison."""
    difference: float | None = None
    """Of this run from the level before it, over the samples that both have; negative is worse."""
    compared: int = 0
    """How many samples those are."""
    reference: list[str] = []
    """The runs of that level."""
    step: Step | None = None
    """Where it is worse, or better."""
    basis: Basis | None = None
    """What the verdict rests on; null where the run is the first, or not compared."""


class Step(Struct, frozen=True, kw_only=True):
    """A change of level that is no chance."""

    window: int
    """The last runs that lie on the new level, this one included."""
    difference: float
    """Of their mean from the level before, on these samples."""
    low: float | None
    """Null where the runs of a level do not differ: no noise was seen, which is not to say that there is none."""
    high: float | None
    since: list[str]
    """The runs with which it may have begun."""
    p_value: float
    alarm_level: float
    """Below which the p-value is an alarm in this run: the chance of a false one, over all runs, is 1 − level."""


class History(Struct, frozen=True, kw_only=True):
    """Runs of one set of tasks, the earliest first."""

    tasks: list[str]
    line: str
    """The model, prompt, commit or tag that these runs have in common; empty where they need not have one."""
    level: float
    order: str
    """`time` or `commit`."""
    baseline: str | None
    """The run that all later ones are compared with; None: with the level before them."""
    metrics: dict[str, str]
    """How each task is scored; several definitions in the order of the runs, where it changed."""
    runs: list[HistoryRun]
    trend: list[float | None]
    """Each run's score over the samples that all compared runs with its questions and scoring share; None where it was
    not compared.
    """
    shared: int
    """How many samples those are, of the last such runs."""
    notes: list[str] = []

    @property
    def steps(self) -> list[HistoryRun]:
        """The runs in which the level changed, the largest change first."""
        changed = [point for point in self.runs if point.step is not None]
        return sorted(changed, key=lambda point: -abs(point.step.difference if point.step else 0.0))
