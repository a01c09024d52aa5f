"""What a judge said, read strictly: the plain word or number, or one JSON object."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from assay.evaluators.usable_answers import UnusableError, json_object

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)\Z", re.ASCII)
_TRIMMED = " \t\r\n'\"`*."


def read_label(text: str, labels: Sequence[str], fields: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The label and the object it came in (empty for a plain label); any label is legal when none are given."""
    verdict = json_object(text, fields) or {}
    given = [verdict[name] for name in fields if name in verdict]
    if any(other != given[0] for other in given[1:]):
        raise UnusableError("different verdicts in one answer")
    label = given[0] if given else text if not verdict else None
    if isinstance(label, bool):
        label = "true" if label else "false"
    if not isinstance(label, (str, int, float)):
        raise UnusableError("the label is not text")
    label = str(label)
    if not label.strip():
        raise UnusableError("the answer is empty")
    if not labels:
        return label.strip(), verdict
    return _matched(label, labels), verdict


def _matched(text: str, labels: Sequence[str]) -> str:
    """Exactly one of the labels: as it is, else trimmed and without regard to case."""
    if text in labels:
        return text
    bare = text.strip(_TRIMMED).casefold()
    same = [label for label in labels if label.strip(_TRIMMED).casefold() == bare]
    if len(same) == 1:
        return same[0]
    raise UnusableError(f"not one of the labels {', '.join(labels)}")


def read_score(text: str, low: float, high: float) -> tuple[float, dict[str, Any]]:
    """The raw number, which must lie in the range, and the object it came in."""
    verdict = json_object(text, ("score",)) or {}
    score = verdict.get("score", text if not verdict else None)
    if isinstance(score, str):
        bare = score.strip(" \t\r\n'\"`*")
        if not bare:
            raise UnusableError("the answer is empty")
        if len(bare) > 40 or not _NUMBER.match(bare):
            raise UnusableError("not a number")
        score = float(bare)
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        raise UnusableError("the score is not a number")
    if not low <= score <= high:
        raise UnusableError(f"{score:g} is outside {low:g} to {high:g}")
    return float(score), verdict
