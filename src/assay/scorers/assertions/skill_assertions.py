"""The assertion about the skills that an agent used, as its own program reports them in its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.scorers.assertions.graded_assertions import Graded
from assay.scorers.assertions.span_assertions import JAVASCRIPT_SPACE, matches


def skill_used(metadata: Mapping[str, Any], value: Any, *, negated: bool) -> Graded:
    """`skill-used`: every skill of a list was used (negated: none was), or one so many times."""
    used = _used(metadata)
    if isinstance(value, str | list):
        wanted = [item.strip(JAVASCRIPT_SPACE) for item in ([value] if isinstance(value, str) else value)]
        holds = any(item in used for item in wanted) if negated else all(item in used for item in wanted)
    else:
        count = sum(_fits(name, value) for name in used)
        least = value.get("min", 0 if "max" in value else 1)
        holds = count > 0 if negated else least <= count <= value.get("max", count)
    return Graded(holds, float(holds), ", ".join(used) or "no skill")


def _used(metadata: Mapping[str, Any]) -> list[str]:
    calls = metadata.get("skillCalls")
    listed: Sequence[Any] = calls if isinstance(calls, list) else ()
    return [
        call["name"]
        for call in listed
        if isinstance(call, dict) and isinstance(call.get("name"), str) and call.get("is_error") is not True
    ]


def _fits(skill: str, value: Mapping[str, Any]) -> bool:
    name, pattern = (str(value.get(key, "")).strip(JAVASCRIPT_SPACE) for key in ("name", "pattern"))
    return (not name or skill == name) and (not pattern or matches(skill, pattern))
