"""The few words of a sample that a table shows: its question, its answer, its target, what went wrong."""

from __future__ import annotations

from typing import Any

from assay.reports.weak_passes import is_weak_pass

LONG_LINE = 64 * 1024
"""Lines longer than this have their preview stored in the index, so that a page of them stays quick."""
SHOWN = 240


def preview_of(record: dict[str, Any]) -> dict[str, Any]:
    """From a record as plain data, of which nothing is taken for granted."""
    trace = _mapping(record.get("trace"))
    targets = record.get("targets")
    failures = record.get("failures")
    scores = record.get("scores")
    first = _mapping(failures[0]) if isinstance(failures, list) and failures else {}
    parts = [_mapping(score) for score in scores] if isinstance(scores, list) else []
    return {
        "id": _short(record.get("sample_id", "")),
        "prompt": _short(question_of(trace) or record.get("asked", "")),
        "answer": _short(trace.get("prediction", record.get("unreadable", ""))),
        "extracted": next((_short(part["answer"]) for part in parts if part.get("answer") is not None), None),
        "target": _short(targets[0]) if isinstance(targets, list) and targets else None,
        "reason": next((_short(part["reason"]) for part in parts if part.get("reason")), None),
        "failure": _short(first.get("message", "")) if first else None,
        "weak": any(is_weak_pass(_mapping(part.get("values")), _mapping(part.get("metadata"))) for part in parts),
    }


def question_of(trace: dict[str, Any]) -> str:
    """What the model was asked last, in words."""
    prompt = trace.get("prompt")
    if isinstance(prompt, str):
        return prompt
    messages = trace.get("messages")
    for message in reversed(messages if isinstance(messages, list) else []):
        if _mapping(message).get("role") == "user":
            return text_of(message.get("content"))
    return ""


def text_of(content: Any) -> str:
    """A message's content as text: plain, or the text parts of a list."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
