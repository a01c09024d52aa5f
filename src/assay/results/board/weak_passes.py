"""Weak passes: marks based on what model-written code itself reported, without a comparison outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GRADES = ("strong", "weak")
"""What a code scorer writes with an outcome: `weak` where the candidate could have forged it."""


def grade_of(values: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> str | None:
    """The grade of a score, by its values and metadata; None where nothing was graded."""
    if not metadata or not isinstance(values.get("outcome"), str):
        return None
    grade = metadata.get("grade")
    return grade if isinstance(grade, str) and grade in GRADES else None


def is_weak_pass(values: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> bool:
    """Whether a score gives marks, full or some of them, that are graded weak."""
    score = values.get("score")
    return grade_of(values, metadata) == "weak" and isinstance(score, int | float) and score > 0


def weak_sentence(passes: int, scored: int) -> str:
    """The warning about a score with weak passes."""
    count = "1 pass is weak" if passes == 1 else f"{passes:,} passes are weak"
    return f"{count}, of {scored:,} scored: the tests took the program's own word for it"
