"""Assertions in the shorthand of a table's `__expected` cells: `contains-any: a, b`, `similar(0.9): …`, a bare text."""

from __future__ import annotations

import re
from typing import Any

from assay.bridges.promptfoo.assertion_types import THRESHOLDED, TYPES
from assay.scorers.assertions.assertion_kinds import comma_separated

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_PREFIXES = {
    "javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric",
    "llm-rubric:": "llm-rubric", "python:": "python",
}  # fmt: skip
_SHAPE = re.compile(
    rf"(not-)?({'|'.join(sorted(map(re.escape, TYPES), key=len, reverse=True))})(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?",
    re.DOTALL,
)


def assertion_of_text(text: str) -> dict[str, Any]:
    """The assertion that a cell stands for; any other text is what the answer must equal."""
    for prefix, kind in _PREFIXES.items():
        if text.startswith(prefix):
            value = text[len(prefix) :]
            return {"type": kind, "value": value if kind == "llm-rubric" else value.strip()}
    if text.startswith("file://") and re.search(r"\.(?:[cm]?[jt]s|py)(?::\w+)?$", text):
        return {"type": "python" if ".py" in text else "javascript", "value": text}
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        return {"type": "equals", "value": text}
    negation, kind, threshold, value = shape.groups()
    assertion: dict[str, Any] = {"type": f"{negation or ''}{kind}"}
    if value is not None:
        assertion["value"] = comma_separated(value) if kind.endswith(("-all", "-any")) else value.strip()
    if kind in THRESHOLDED:
        assertion["threshold"] = float(threshold) if threshold else 0.8 if kind == "similar" else 0.75
    return assertion


def finite(text: str) -> float | None:
    """A number in a cell; None where there is none."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None
