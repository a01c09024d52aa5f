"""Assertions about the steps of a program: which tools it called, with which arguments, in which order.

A step is what one span of the trace says: a call of a tool, a command, a search, reasoning, a message, or only a span.
The attributes that say so are those of OpenTelemetry's conventions and of the libraries that promptfoo knows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from assay.prompts.jinja_filters import as_javascript
from assay.scorers.assertions.graded_assertions import Graded
from assay.scorers.assertions.span_assertions import JAVASCRIPT_SPACE, matches
from assay.spans import Span

KINDS = ("command", "message", "reasoning", "search", "span", "tool")
MOST_JUDGED = 24
"""Steps that a grader is shown: the first and the last half of them."""


class TrajectoryStep(NamedTuple):
    """One span as a step."""

    kind: str
    name: str
    aliases: tuple[str, ...]
    """The names that a pattern may match."""
    arguments: tuple[Any, ...]
    """The arguments of a call, or nothing; they may themselves be null."""
    span: Span


# -- from spans to steps --------------------------------------------------------------------------------------------

_TOOL_NAMES = (
    "tool.name", "tool_name", "tool", "function.name", "function_name", "ai.toolCall.name", "gen_ai.tool.name",
    "agent.tool_name", "agent.tool", "agent.toolName", "codex.mcp.tool",
)  # fmt: skip
_TOOL_ARGUMENTS = (
    "tool.args", "tool.arguments", "tool.input", "tool_args", "tool_arguments", "tool_input",
    "function.args", "function.arguments", "function.input", "function_args", "function_arguments",
    "ai.toolCall.args", "ai.toolCall.arguments", "ai.toolCall.input",
    "gen_ai.tool.args", "gen_ai.tool.arguments", "gen_ai.tool.input", "gen_ai.tool.call.args",
    "gen_ai.tool.call.arguments", "agent.tool.args", "agent.tool.arguments", "agent.tool.input",
    "codex.mcp.args", "codex.mcp.arguments", "codex.mcp.input", "args", "arguments", "input",
)  # fmt: skip
_COMMANDS = ("codex.command", "command", "command.name", "command_name")
_SEARCHES = ("codex.search.query", "search.query", "search_query")
_SHELLS = ("exec_command", "local_shell", "shell")


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(r"\s", JAVASCRIPT_SPACE), re.IGNORECASE | re.ASCII)


_NAMES_A_TOOL = _compiled(r"tool.?name|function.?name")
_IS_ABOUT_A_TOOL = _compiled(r"(^|[._])tool(\Z|[._])")
_IS_NO_TOOL = _compiled(r"result|output|definition")
_NAMES_ARGUMENTS = _compiled(r"(^|[._])(arguments|args|input)(\Z|[._])")
_IS_NO_ARGUMENT = _compiled(r"result|output|error|status")
_NAMES_A_COMMAND = _compiled(r"command")
_IS_NO_COMMAND = _compiled(r"output|result")
_NAMES_A_SEARCH = _compiled(r"(^|[._])(search|lookup|retrieve|retrieval)(\Z|[._])")
_IS_A_SEARCH = _compiled(r"(^|[\s._:/-])(search|find|lookup|retrieve|retrieval)(\Z|[\s._:/-])")
_IS_REASONING = _compiled(r"reasoning([_\s]|\Z)")


def steps_of(spans: Sequence[Span], command_tools: Sequence[str] = ()) -> list[TrajectoryStep]:
    """The steps in the order of their time; calls of `command_tools` are commands, as those of shells are."""
    shells = {*_SHELLS, *(_trimmed(name).lower() for name in command_tools)}

    def time(span: Span) -> tuple[float, float]:
        start, end = span["startTime"], span.get("endTime")
        return start, start if end is None else end

    return [_step(span, shells) for span in sorted(spans, key=time)]


def _step(span: Span, shells: set[str]) -> TrajectoryStep:
    attributes = span.get("attributes") or {}
    tool = _tool_name(span, attributes)
    arguments = _tool_arguments(attributes)
    runs_shell = tool is not None and _trimmed(tool).lower() in shells
    command = _command(span, attributes, arguments, runs_shell=runs_shell)
    if command and (runs_shell or not tool):
        names = (command, *((tool,) if tool else ()), *re.split(f"[{JAVASCRIPT_SPACE}]+", _trimmed(command))[:1])
        return _made("command", command, span, names, arguments if runs_shell else ())
    if tool:
        return _made("tool", tool, span, (tool,), arguments)
    if query := _search_query(span, attributes):
        return _made("search", query, span, (query,))
    kind = _other_kind(span, attributes)
    return _made(kind, span["name"], span, () if kind == "span" else (kind,))


def _made(kind: str, name: str, span: Span, names: Sequence[str], arguments: tuple[Any, ...] = ()) -> TrajectoryStep:
    return TrajectoryStep(kind, name, tuple(dict.fromkeys((span["name"], *names))), arguments, span)


def _tool_name(span: Span, attributes: Mapping[str, Any]) -> str | None:
    if name := _first_text(attributes, _TOOL_NAMES):
        return name
    for key, value in attributes.items():
        text = _trimmed(value) if isinstance(value, str) else ""
        if not text or _is_structured(text):  # the list of tools that a model may call is no call
            continue
        if _NAMES_A_TOOL.search(key) or (_IS_ABOUT_A_TOOL.search(key) and not _IS_NO_TOOL.search(key)):
            return text
    name = str(span["name"])
    return (
        _trimmed(name.rpartition("/")[2])
        if name.startswith("mcp ") and not name.endswith("/") and "/" in name
        else None
    )


def _tool_arguments(attributes: Mapping[str, Any]) -> tuple[Any, ...]:
    others = (key for key in attributes if _NAMES_ARGUMENTS.search(key) and not _IS_NO_ARGUMENT.search(key))
    for key in (*_TOOL_ARGUMENTS, *others):
        value = attributes.get(key)
        if isinstance(value, str):
            value = _trimmed(value)
            if value:
                return (_parsed(value),)
        elif value is not None:
            return (value,)
    return ()


def _command(span: Span, attributes: Mapping[str, Any], arguments: tuple[Any, ...], *, runs_shell: bool) -> str | None:
    if command := _first_text(attributes, _COMMANDS):
        return command
    for key, value in attributes.items():
        if (
            isinstance(value, str)
            and _trimmed(value)
            and _NAMES_A_COMMAND.search(key)
            and not _IS_NO_COMMAND.search(key)
        ):
            return _trimmed(value)
    if runs_shell and arguments and isinstance(arguments[0], dict) and (command := _shell_command(arguments[0])):
        return command
    return _trimmed(span["name"][len("exec ") :]) if span["name"].startswith("exec ") else None


def _shell_command(arguments: Mapping[str, Any]) -> str:
    key = next((name for name in ("cmd", "command", "commands") if name in arguments), "")
    command = arguments.get(key)
    if isinstance(command, list):
        parts = [_trimmed("null" if item is None else as_javascript(item)) for item in command]
        return ("; " if key == "commands" else " ").join(filter(None, parts))
    return _trimmed(command) if isinstance(command, str) else ""


def _search_query(span: Span, attributes: Mapping[str, Any]) -> str | None:
    name = str(span["name"])
    if query := _first_text(attributes, _SEARCHES):
        return query
    is_search = _IS_A_SEARCH.search(name) or name.startswith("search ")
    if (query := _first_text(attributes, ("query",))) and (is_search or any(map(_NAMES_A_SEARCH.search, attributes))):
        return query
    return _trimmed(re.sub(r'\A"|"\Z', "", name[len("search ") :])) if name.startswith("search ") else None


def _other_kind(span: Span, attributes: Mapping[str, Any]) -> str:
    item, name = attributes.get("codex.item.type"), str(span["name"])
    if item == "reasoning" or _IS_REASONING.match(name):
        return "reasoning"
    return "message" if item == "agent_message" or name in ("agent response", "send input") else "span"


def _first_text(attributes: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    texts = (_trimmed(attributes[key]) for key in keys if isinstance(attributes.get(key), str))
    return next((text for text in texts if text), None)


def _trimmed(text: str) -> str:
    return text.strip(JAVASCRIPT_SPACE)


def _is_structured(text: str) -> bool:
    return text[0] in "[{" and isinstance(_parsed(text), dict | list)


def _parsed(text: str) -> Any:
    """The value of JSON, with numbers as JavaScript has them; any other text as it is."""
    try:
        return json.loads(text, parse_int=float, parse_constant=_refused)
    except (ValueError, RecursionError):
        return text


def _refused(constant: str) -> Any:
    raise ValueError(constant)


# -- assertions -----------------------------------------------------------------------------------------------------


def tool_used(steps: Sequence[TrajectoryStep], value: Any, *, negated: bool) -> Graded:
    """`trajectory:tool-used`: every tool of a list was called (negated: none was), or one so many times."""
    tools = [step for step in steps if step.kind == "tool"]
    if isinstance(value, str | list):
        used = [any(_fits(step, name) for step in tools) for name in ([value] if isinstance(value, str) else value)]
        return _verdict(any(used) if negated else all(used), tools)
    count = sum(_fits(step, value) for step in tools)
    return _verdict(value.get("min", 1) <= count <= value.get("max", count), tools)


def tool_sequence(steps: Sequence[TrajectoryStep], value: Any, *, negated: bool) -> Graded:
    """`trajectory:tool-sequence`: these tools were called in this order, and only they if it is `exact`."""
    del negated
    tools = [step for step in steps if step.kind == "tool"]
    wanted = value if isinstance(value, list) else value["steps"]
    if isinstance(value, Mapping) and value.get("mode") == "exact":
        same_length = len(tools) == len(wanted)
        return _verdict(same_length and all(map(_fits, tools, wanted)), tools)
    remaining = iter(tools)
    return _verdict(all(any(_fits(step, item) for step in remaining) for item in wanted), tools)


def step_count(steps: Sequence[TrajectoryStep], value: Any, *, negated: bool) -> Graded:
    """`trajectory:step-count`: from `min` to `max` steps are of this kind and match this pattern."""
    del negated
    matching = [step for step in steps if _fits(step, value, kind=None)]
    count = len(matching)
    return _verdict(value.get("min", count) <= count <= value.get("max", count), matching)


def tool_args_match(steps: Sequence[TrajectoryStep], value: Any, *, negated: bool) -> Graded:
    """`trajectory:tool-args-match`: one call of the tool has these arguments, and only them if it is `exact`."""
    del negated
    given, ignored = value.get("ignore", ()), value.get("defaults", {})
    names = [given] if isinstance(given, str) else given
    expected = _without(value["args"] if "args" in value else value["arguments"], names)
    same = is_same if value.get("mode") == "exact" else _includes
    calls = [step for step in steps if step.kind == "tool" and _fits(step, value)]
    found = (argument for step in calls for argument in step.arguments)
    holds = any(same(_without_defaults(_without(item, names), ignored), expected) for item in found)
    shown = json.dumps([step.arguments[0] for step in calls if step.arguments], ensure_ascii=False, default=str)
    return Graded(holds, float(holds), f"{len(calls)} calls, arguments {shown}")


def _verdict(holds: bool, steps: Sequence[TrajectoryStep]) -> Graded:
    return Graded(holds, float(holds), ", ".join(f"{step.kind}:{step.name}" for step in steps) or "no such step")


def _fits(step: TrajectoryStep, wanted: Any, kind: str | None = "tool") -> bool:
    if isinstance(wanted, str):
        wanted = {"pattern": wanted}
    kinds = wanted.get("type") or kind
    if kinds and step.kind not in ([kinds] if isinstance(kinds, str) else kinds):
        return False
    pattern = wanted.get("pattern") or wanted.get("name")
    return not pattern or any(matches(alias, pattern) for alias in step.aliases)


def _without(arguments: Any, ignored: Sequence[str]) -> Any:
    """The arguments without those whose name is ignored, or matches an ignored pattern."""
    if not isinstance(arguments, dict):
        return arguments

    def is_ignored(key: str) -> bool:
        return any(item == key or (set(item) & set("*?") and matches(key, item)) for item in ignored)

    return {key: each for key, each in arguments.items() if not is_ignored(key)}


def _without_defaults(arguments: Any, defaults: Mapping[str, Any]) -> Any:
    if not isinstance(arguments, dict):
        return arguments
    return {key: each for key, each in arguments.items() if key not in defaults or not is_same(each, defaults[key])}


def _includes(actual: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(actual, list) and len(actual) == len(expected) and all(map(_includes, actual, expected))
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return False
        return all(key in actual and _includes(actual[key], each) for key, each in expected.items())
    return is_same(actual, expected)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JavaScript: 1 is 1.0 and not true, and 0 is not -0."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if _is_number(one) and _is_number(other):
        return float(one) == float(other) and math.copysign(1, one) == math.copysign(1, other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


TRAJECTORY_ASSERTIONS: dict[str, Callable[..., Graded]] = {
    "trajectory:tool-used": tool_used,
    "trajectory:tool-sequence": tool_sequence,
    "trajectory:tool-args-match": tool_args_match,
    "trajectory:step-count": step_count,
}


# -- for a grader ---------------------------------------------------------------------------------------------------


def summary(trace: Mapping[str, Any], command_tools: Sequence[str] = ()) -> str:
    """The steps as JSON, equal neighbours counted once, and only the first and the last of very many."""
    steps = [_shown(number, step) for number, step in enumerate(steps_of(trace["spans"], command_tools), 1)]
    compact: list[dict[str, Any]] = []
    for step in steps:
        same = compact and all(compact[-1].get(key) == step.get(key) for key in ("type", "name", "spanName", "status"))
        if same:
            compact[-1]["collapsedCount"] = compact[-1].get("collapsedCount", 1) + 1
        else:
            compact.append(step)
    listed, half = compact, MOST_JUDGED // 2
    if len(compact) > MOST_JUDGED:
        listed = [*compact[:half], {"omittedCount": len(compact) - MOST_JUDGED}, *compact[-half:]]
    whole = {
        "traceId": trace["traceId"],
        "stepCount": len(steps),
        "compactedStepCount": len(compact),
        "steps": listed,
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _shown(number: int, step: TrajectoryStep) -> dict[str, Any]:
    code, message = step.span.get("statusCode"), step.span.get("statusMessage")
    status = {"code": code, **({"message": message} if message else {})}
    return {
        "index": number,
        "type": step.kind,
        "name": step.name,
        **({} if step.span["name"] == step.name else {"spanName": step.span["name"]}),
        **({"status": status} if code else {}),
    }
