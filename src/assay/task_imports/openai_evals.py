"""OpenAI evals: a JSON Lines file of `input` and `ideal`, with the template that scores it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.core.errors import UsageError
from assay.task_imports.imported import Imported, Row, read_records, shaped, task_name


class _Template(Struct, frozen=True):
    """How a basic eval of that program asks and scores."""

    metric: str
    assertion: str | None = None
    """What must hold of the answer and one of the ideals, to the letter."""
    generation: dict[str, Any] | None = None


TEMPLATES = {
    "match": _Template("assertions", "starts-with", {"temperature": 0.0}),
    "includes": _Template("assertions", "contains-any"),
    "includes_ignore_case": _Template("assertions", "icontains-any"),
    "fuzzy_match": _Template("fuzzy_match", None, {"temperature": 0.0, "max_tokens": 100}),
}
"""The basic templates of that program; `includes` with `ignore_case: true` in its registry entry has its own name."""


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
            found.lose("documents", f"line {number + 1}: has no {'input' if asked is None else 'ideal'}")
            continue
        for name in record:
            if name not in ("input", "ideal"):
                found.leave(f"field {name}: has no counterpart here")
        rows.append(_row(number, asked, targets, TEMPLATES[template], found))
    found.tasks[task_name(path.stem)] = rows
    return found


def _row(number: int, asked: Any, targets: list[str], template: _Template, found: Imported) -> Row:
    prompt, messages = _asked(asked, number, found)
    extras: dict[str, Any] = {"messages": messages} if messages else {}
    if template.assertion:
        extras["assertions"] = [{"type": template.assertion, "value": targets}]
    if template.generation:
        extras["generation"] = template.generation
    return {"id": str(number), "prompt": prompt, "targets": targets, "metric": template.metric, "extras": extras}


class _Message(Struct):
    role: Any
    content: Any


def _asked(asked: Any, number: int, found: Imported) -> tuple[str, list[dict[str, Any]] | None]:
    """The prompt, and the messages where it is more than one of the user."""
    if isinstance(asked, str):
        return asked, None
    given = shaped(asked, list[_Message], f"line {number + 1}: input")
    messages: list[dict[str, Any]] = [{"role": str(each.role), "content": each.content} for each in given]
    if any(not isinstance(each["content"], str) for each in messages):
        found.lose("prompt", f"line {number + 1}: content that is not text")
        messages = [{**each, "content": str(each["content"])} for each in messages]
    prompt = "\n\n".join(each["content"] for each in messages)
    return prompt, None if len(messages) == 1 and messages[0]["role"] == "user" else messages
