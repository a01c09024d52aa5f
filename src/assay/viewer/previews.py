"""The few words of a sample that a table shows: its question, its answer, its target, what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.reports.board.weak_passes import is_weak_pass
from assay.reports.conversation import asked_of, last_asked, shared_beginning

LONG_LINE = 64 * 1024
"""Lines longer than this have their preview stored in the index, so that a page of them stays quick."""
SHOWN = 240


def preview_of(record: dict[str, Any], shared: Mapping[str, str] = {}) -> dict[str, Any]:
    """From a record as plain data, of which nothing is taken for granted; `shared` is what its task begins with."""
    asked = asked_of(record)
    beginning = shared_beginning(shared.get(str(record.get("task", "")), ""), asked)
    trace = _mapping(record.get("trace"))
    targets = record.get("targets")
    failures = record.get("failures")
    scores = record.get("scores")
    first = _mapping(failures[0]) if isinstance(failures, list) and failures else {}
    parts = [_mapping(score) for score in scores] if isinstance(scores, list) else []
    return {
        "id": _short(record.get("sample_id", "")),
        "prompt": _short(last_asked(asked, beginning)),
        "answer": _short(trace.get("prediction", record.get("unreadable", ""))),
        "extracted": next((_short(part["answer"]) for part in parts if part.get("answer") is not None), None),
        "target": _short(targets[0]) if isinstance(targets, list) and targets else None,
        "reason": next((_short(part["reason"]) for part in parts if part.get("reason")), None),
        "failure": _short(first.get("message", "")) if first else None,
        "weak": any(is_weak_pass(_mapping(part.get("values")), _mapping(part.get("metadata"))) for part in parts),
    }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
