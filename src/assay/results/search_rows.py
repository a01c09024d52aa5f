"""Rows in the summary of a search: written by `assay optimize`, shown by the viewer."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from assay.core.types import Failure


class SetScore(Struct, frozen=True, kw_only=True):
    """One text on one set; failures are excluded from the mean."""

    mean: float | None
    scored: int
    failed: int


class EvaluationRow(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One evaluation: of which candidate, on what, and everything that came of it."""

    candidate: int
    part: str
    index: int
    repeat: int = 1
    score: float | None = None
    output: str | None = None
    """What the candidate led to, where the evaluator says so."""
    scores: Any = None
    """Sub-scores as the evaluator gave them."""
    side_info: dict[str, Any] = {}
    failure: Failure | None = None
    seconds: float = 0.0
    cost: float | None = None
    """Of the models that were called, where prices are known."""
    reused: bool = False


class ExampleOutcomes(Struct, frozen=True, kw_only=True):
    """One example under the seed and under the best text; `evaluations` has the rest of what was seen."""

    part: str
    index: int
    record: dict[str, Any] | None
    seed: float | None
    best: float | None
    seed_failure: str | None
    best_failure: str | None
