"""The few words of a sample that a table shows: its question, its answer, its target, what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.results.board.weak_passes import is_weak_pass
from assay.results.conversation import answer_in, last_question, prompt_of, shared_beginning

LONG_LINE = 64 * 1024
"""Lines longer than this have their preview stored in the index, so that a page of them stays fast."""
SHOWN = 240
LONGEST_SHOWN = 1200
"""Where a row has several lines."""


def preview_of(record: dict[str, Any], shared: Mapping[str, str] = {}, longest: int = LONGEST_SHOWN) -> dict[str, Any]:
    """From a record as plain data, of which nothing is taken for granted; `shared` is what its task begins with."""
    return cut_to(_whole_preview(record, shared), longest)


def cut_to(preview: dict[str, Any], longest: int) -> dict[str, Any]:
    """No text longer than so many characters; of the tail the end is kept."""
    too_long = {name: text for name, text in preview.items() if isinstance(text, str) and len(text) > longest}
    cut = {**preview, **{name: text[:longest] + "…" for name, text in too_long.items()}}
    tail = preview["tail"]
    return {**cut, "tail": tail if len(tail) <= longest else "…" + tail[-longest:]}


def _whole_preview(record: dict[str, Any], shared: Mapping[str, str]) -> dict[str, Any]:
    prompt = prompt_of(record)
    beginning = shared_beginning(shared.get(str(record.get("task", "")), ""), prompt)
    trace = _mapping(record.get("trace"))
    targets = record.get("targets")
    failures = record.get("failures")
    scores = record.get("scores")
    first = _mapping(failures[0]) if isinstance(failures, list) and failures else {}
    parts = [_mapping(score) for score in scores] if isinstance(scores, list) else []
    question = last_question(prompt, beginning)
    return {
        "id": _text(record.get("sample_id", "")),
        "prompt": question,
        "tail": question,
        "answer": answer_in(trace) if trace else "",
        "extracted": next((_text(part["answer"]) for part in parts if part.get("answer") is not None), None),
        "target": _text(targets[0]) if isinstance(targets, list) and targets else None,
        "reason": next((_text(part["reason"]) for part in parts if part.get("reason")), None),
        "failure": _text(first.get("message", "")) if first else None,
        "weak": any(is_weak_pass(_mapping(part.get("values")), _mapping(part.get("metadata"))) for part in parts),
    }


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
