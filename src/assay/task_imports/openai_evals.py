"""OpenAI evals: a JSON Lines file of `input` and `ideal`, with the template that scores it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.task_imports.imported import Imported, read_records, shaped, task_name

TEMPLATES = {"match": "starts_with", "includes": "substring_contains", "fuzzy_match": "fuzzy_match"}
"""The basic templates of that program -> our metrics."""


def import_openai_evals(path: Path, template: str = "match") -> Imported:
    """The samples of a file; `template` is the basic eval its registry entry names."""
    if template not in TEMPLATES:
        raise UsageError(f"--template must be one of {', '.join(TEMPLATES)}, not `{template}`; others need a judge")
    found = Imported()
    rows = []
    for number, record in enumerate(read_records(path)):
        asked, ideal = record.get("input"), record.get("ideal")
        targets = [str(each) for each in ideal] if isinstance(ideal, list) else [] if ideal is None else [str(ideal)]
        if asked is None or not targets:
            found.leave(f"line {number + 1}: has no {'input' if asked is None else 'ideal'}")
            continue
        for name in record:
            if name not in ("input", "ideal"):
                found.leave(f"field {name}: has no counterpart here")
        rows.append(
            {
                "id": str(number),
                "targets": targets,
                "metric": TEMPLATES[template],
                **_asked(asked, number, found),
            }
        )
    found.tasks[task_name(path.stem)] = rows
    return found


class _Message(Struct):
    role: Any
    content: Any


def _asked(asked: Any, number: int, found: Imported) -> dict[str, Any]:
    if isinstance(asked, str):
        return {"prompt": asked}
    given = shaped(asked, list[_Message], f"line {number + 1}: input")
    messages: list[dict[str, Any]] = [{"role": str(each.role), "content": each.content} for each in given]
    if any(not isinstance(each["content"], str) for each in messages):
        found.leave(f"line {number + 1}: content that is not text")
        messages = [{**each, "content": str(each["content"])} for each in messages]
    prompt = "\n\n".join(each["content"] for each in messages)
    if len(messages) == 1 and messages[0]["role"] == "user":
        return {"prompt": prompt}
    return {"prompt": prompt, "extras": {"messages": messages}}
