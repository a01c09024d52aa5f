"""What the assertions about traces, trajectories and skills take as their value; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assay.core.errors import UsageError
from assay.scorers.assertions.answer_checks import NEGATION, SKILL
from assay.scorers.assertions.sample_assertions import GOAL
from assay.scorers.assertions.trajectory_assertions import KINDS

_MATCHER = {"name", "pattern", "type"}
_STEP = "step"
_FIELDS = {
    "trace-span-count": {"pattern", "min", "max"},
    "trace-span-duration": {"pattern", "max", "percentile"},
    "trace-error-spans": {"pattern", "max_count", "max_percentage"},
    "trajectory:tool-used": {*_MATCHER, "min", "max"},
    "trajectory:tool-sequence": {"steps", "mode"},
    "trajectory:tool-args-match": {*_MATCHER, "args", "arguments", "mode", "defaults", "ignore"},
    "trajectory:step-count": {*_MATCHER, "min", "max"},
    _STEP: _MATCHER,
    SKILL: {"name", "pattern", "min", "max"},
    GOAL: {"goal"},
}
"""The fields of a value that is a mapping."""
_NEEDED: dict[str, tuple[set[str], ...]] = {
    "trace-span-count": ({"pattern"},),
    "trace-span-duration": ({"max"},),
    "trajectory:tool-used": ({"name", "pattern"},),
    "trajectory:tool-sequence": ({"steps"},),
    "trajectory:tool-args-match": ({"name", "pattern"}, {"args", "arguments"}),
    "trajectory:step-count": ({"min", "max"},),
    _STEP: ({"name", "pattern"},),
    SKILL: ({"name", "pattern"},),
    GOAL: ({"goal"},),
}
"""Of each set, one field is needed."""
_MODES = {"trajectory:tool-sequence": ("in_order", "exact"), "trajectory:tool-args-match": ("partial", "exact")}


def check_trace_value(written: str, value: Any) -> None:
    """`UsageError` where promptfoo would raise, or ignore a part of the value."""
    kind = written.removeprefix(NEGATION)
    if isinstance(value, Mapping):
        problems = _of_mapping(kind, value)
        if written == f"{NEGATION}{SKILL}" and ("min" in value or value.get("max", 0) != 0):
            raise UsageError("it takes no `min`, and no `max` but 0")
    elif kind == "trajectory:tool-sequence":
        problems = _of_steps(value)
    elif kind in ("trajectory:tool-used", SKILL):
        texts = isinstance(value, list) and value and all(map(_is_text, value))
        problems = iter(() if texts or _is_text(value) else ["its value must be a name, a list of names or a mapping"])
    elif kind == "trace-error-spans":
        fits = value is None or _is_number(value)
        problems = iter(() if fits else ["its value must be the most errors, or a mapping"])
    else:
        fits = kind == GOAL and _is_text(value)
        problems = iter(() if fits else ["its value must be a mapping" + (" or a text" if kind == GOAL else "")])
    if problem := next(problems, None):
        raise UsageError(problem)


def _of_mapping(kind: str, value: Mapping[str, Any]) -> Iterator[str]:
    for name in value:
        if name not in _FIELDS[kind]:
            yield f"`{name}` of its value is not supported"
    for needed in _NEEDED.get(kind, ()):
        if not needed & value.keys():
            yield f"its value needs {' or '.join(f'`{name}`' for name in sorted(needed))}"
    for name, (fits, shape) in _SHAPES.items():
        if name in value and not fits(value[name]):
            yield f"`{name}` of its value must be {shape}, got {value[name]!r}"
    if "mode" in value and value["mode"] not in _MODES[kind]:
        yield f"`mode` of its value must be {' or '.join(_MODES[kind])}, got {value['mode']!r}"
    if kind == SKILL and value.get("min", 0) > value.get("max", float("inf")):
        yield "`max` of its value must not be less than `min`"
    if "steps" in value:
        yield from _of_steps(value["steps"])


def _of_steps(steps: Any) -> Iterator[str]:
    if not isinstance(steps, list) or not steps:
        yield "its steps must be a list of tools"
        return
    for number, step in enumerate(steps, 1):
        if isinstance(step, Mapping):
            for problem in _of_mapping(_STEP, step):
                yield f"step {number}: {problem}"
        elif not _is_text(step):
            yield f"step {number} must be a name or a mapping"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_kind(value: Any) -> bool:
    return all(item in KINDS for item in (value if isinstance(value, list) else [value])) and value != []


def _names(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, list) and all(map(_is_text, value)))


_A_NUMBER: tuple[Callable[[Any], bool], str] = (_is_number, "a number")
_A_TEXT: tuple[Callable[[Any], bool], str] = (_is_text, "a text")
_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "pattern": _A_TEXT,
    "name": _A_TEXT,
    "goal": _A_TEXT,
    "type": (_is_kind, f"of {', '.join(KINDS)}"),
    "min": _A_NUMBER,
    "max": _A_NUMBER,
    "max_count": _A_NUMBER,
    "max_percentage": _A_NUMBER,
    "percentile": (lambda value: _is_number(value) and 0 <= value <= 100, "a number from 0 to 100"),
    "defaults": (lambda value: isinstance(value, Mapping), "a mapping"),
    "ignore": (_names, "a name or a list of names"),
}
