"""The filters of templates: JSON, lists, patterns, and bounded versions of those of Jinja."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import ChainableUndefined, pass_environment
from jinja2 import Undefined as AnyUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

from assay.overriding import override
from assay.patterns.matching import BadPatternError, substitute
from assay.prompts.jinja_rules import (
    NativeRules,
    Rules,
    Undefined,
    bounded_join,
    check_format,
    check_replace,
    defined,
    printable_value,
    steps,
    without_ways_out,
)

MAX_PATTERN = 2_000


def _fromjson(value: str) -> Any:
    return json.loads(value)


def _tojson(value: Any, indent: int | None = None) -> str:
    """JSON as it is, without escapes for HTML: prompts are not web pages."""
    return json.dumps(_json_value(value), ensure_ascii=False, indent=indent)


def _json_value(value: Any) -> Any:
    """Views give their plain form; everything else is JSON already or an error."""
    as_json = getattr(value, "to_json", None)
    if callable(as_json):
        return as_json()
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return value


def _dump(value: Any, indent: int | None = None) -> str:
    """JSON as JavaScript writes it."""
    separators = None if indent else (",", ":")
    return json.dumps(_json_value(value), ensure_ascii=False, indent=indent, separators=separators)


def _json_escape(value: Any) -> str:
    """Text for use between the quotes of a JSON string."""
    return json.dumps(str(value), ensure_ascii=False)[1:-1]


def _merge(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(first)
    for other in others:
        merged.update(other)
    return merged


def _zip(*sequences: Iterable[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*sequences, strict=False))


def _regex_replace(
    value: Any, pattern: str, repl: str = "", multiline: bool = False, ignorecase: bool = False, count: int = 0
) -> str:
    flags = (re.MULTILINE if multiline else 0) | (re.IGNORECASE if ignorecase else 0)
    if len(pattern) > MAX_PATTERN:
        raise BadPatternError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed")
    return substitute(pattern, repl, str(value), flags, count)


def _replace(value: Any, old: str, new: str, count: int | None = None) -> str:
    check_replace(str(value), old, new)
    return str(value).replace(old, new, -1 if count is None else count)


@pass_environment
def _join(environment: Rules, values: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
    if attribute is not None:
        values = (defined(environment.getitem(value, attribute)) for value in values)
    return bounded_join(values, str(d))


@pass_environment
def _attr(environment: Rules, value: Any, name: str) -> Any:
    """As `value.name`, by the sandbox's own rule."""
    return environment.getattr(value, str(name))


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    check_format(str(value))
    return str(value) % (kwargs or args)


def _bounded_width(name: str) -> Callable[..., Any]:
    original = SandboxedEnvironment().filters[name]
    given = 2 if "jinja_pass_arg" in vars(original) else 1
    """The value, and before it the environment or context for filters that are marked so; `wraps` keeps the mark."""

    @wraps(original)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        for number in (*args[given:], *kwargs.values()):
            if isinstance(number, int) and number > 10_000:
                raise SecurityError(f"the filter `{name}` may not make more than 10,000 characters")
        return original(*args, **kwargs)

    return bounded


def as_javascript(value: Any) -> str:
    """A value as JavaScript writes it: `true`, no text for nothing, 2 for 2.0.

    Example: as_javascript([True, None, 2.0]) == "true,,2"
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)
    if isinstance(value, list | tuple):
        return ",".join(map(as_javascript, value))
    return "[object Object]" if isinstance(value, dict) else str(value)


def _environment(
    kind: type[Rules], undefined: type[AnyUndefined] = Undefined, finalize: Callable[[Any], Any] | None = None
) -> Rules:
    environment = kind(
        undefined=undefined,
        finalize=finalize,
        autoescape=False,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    environment.filters |= {
        "__steps": steps,
        "__joined": bounded_join,
        "attr": _attr,
        "replace": _replace,
        "join": _join,
        "format": _format,
        "fromjson": _fromjson,
        "tojson": _tojson,
        "json_escape": _json_escape,
        "zip": _zip,
        "merge": _merge,
        "regex_replace": _regex_replace,
        **{name: _bounded_width(name) for name in ("center", "indent", "batch", "slice", "wordwrap")},
    }
    without_ways_out(environment)
    return environment


TEXT = _environment(Rules, finalize=printable_value)
NATIVE = _environment(NativeRules, finalize=printable_value)


class JavascriptRules(Rules):
    """The same bounds, and the one property that texts and lists have in JavaScript."""

    @override
    def getattr(self, obj: Any, attribute: str) -> Any:
        if attribute == "length" and isinstance(obj, str | list | tuple):
            return len(obj.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(obj, str) else len(obj)
        return super().getattr(obj, attribute)


FORGIVING = _environment(JavascriptRules, ChainableUndefined, as_javascript)
"""For files of programs in JavaScript, which take an unknown name for an empty text."""
FORGIVING.filters |= {
    "dump": _dump,
    "load": _fromjson,
    "safe": lambda value: value,
    "pairs": lambda value: list(value.items()) if isinstance(value, Mapping) else value,
}
