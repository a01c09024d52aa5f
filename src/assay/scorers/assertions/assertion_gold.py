"""An answer that satisfies a list of assertions, built from the assertions themselves.

Nothing is claimed: a text is proposed for every assertion and for all of them together, and the first one that holds is
taken. Where none does, there is no gold answer, and the caller can report that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from assay.patterns.example import example_text
from assay.prompts.jinja_filters import as_javascript
from assay.scorers.assertions.json_schema import conforms

SOME_TEXT = "an answer"
_JOINTS = (" ", "\n", "")
MOST_ITEMS = 5
MOST_LEVELS = 7
"""Of the lists of an example: what a schema may demand beyond that has no end."""


class Wanted(NamedTuple):
    """An assertion with its data rendered; its kind is written with `_` and without the negation."""

    kind: str
    negated: bool
    data: Mapping[str, Any]


def gold_text(wanted: Sequence[Wanted], holds: Callable[[str], bool]) -> str | None:
    """A text that satisfies all of them; else the text that `equals` names, since no other text can."""
    exact = [_proposed(each) for each in wanted if each.kind == "equals" and not each.negated]
    for text in _candidates(wanted):
        if holds(text):
            return text
    return exact[0] if exact else None


def _candidates(wanted: Sequence[Wanted]) -> Iterator[str]:
    openings_first = sorted(wanted, key=lambda each: each.kind != "starts_with")
    parts = [text for each in openings_first if not each.negated and (text := _proposed(each)) is not None]
    yield from parts
    if len(parts) > 1:
        yield from (joint.join(parts) for joint in _JOINTS)
    counts = [each.data for each in wanted if each.kind == "word_count"]
    for words in sorted({number for count in counts for number in _near(count)}):
        padded = [*" ".join(parts).split(), *["word"] * words]
        yield " ".join(padded[:words])
    yield from (SOME_TEXT, "", "{}")


def _near(count: Mapping[str, Any]) -> list[int]:
    """Numbers of words on both sides of the limits."""
    limits = [int(count[name]) for name in ("min", "max") if count.get(name) is not None]
    return [number for limit in limits for number in (limit - 1, limit, limit + 1) if 0 <= number <= 10_000]


def _proposed(wanted: Wanted) -> str | None:
    propose = _PROPOSALS.get(wanted.kind)
    return None if propose is None else propose(wanted.data.get("value"))


def _equal(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, dict | list) else as_javascript(value)


def _all(value: Any) -> str:
    """A text with commas is a list of the texts between them."""
    return " ".join(map(as_javascript, value)) if isinstance(value, list) else as_javascript(value)


def _first(value: Any) -> str:
    return as_javascript(value[0] if isinstance(value, list) and value else value)


def _json_text(schema: Any) -> str | None:
    if not schema:
        return "{}"
    value = example_of(schema)
    return json.dumps(value) if conforms(value, schema) else None


_PROPOSALS: dict[str, Callable[[Any], str | None]] = {
    "equals": _equal,
    "contains": as_javascript,
    "icontains": as_javascript,
    "similar": str,
    "contains_all": _all,
    "icontains_all": _all,
    "contains_any": _first,
    "icontains_any": _first,
    "starts_with": _first,
    "regex": lambda value: example_text(str(value)),
    "is_json": _json_text,
    "json_schema": _json_text,
    "contains_json": _json_text,
}


def example_of(schema: Any, level: int = 0) -> Any:
    """A value as a simple schema demands; of another schema, one that may not conform."""
    if not isinstance(schema, dict) or level >= MOST_LEVELS:
        return {}
    if "const" in schema:
        return schema["const"]
    for choices in ("enum", "examples"):
        if schema.get(choices):
            return schema[choices][0]
    for alternatives in ("anyOf", "oneOf"):
        if schema.get(alternatives):
            rest = {word: value for word, value in schema.items() if word != alternatives}
            first = schema[alternatives][0]
            return example_of({**rest, **first}, level + 1) if isinstance(first, dict) else {}
    kind = schema.get("type", "array" if "items" in schema else "object")
    make = _EXAMPLES.get(kind[0] if isinstance(kind, list) else kind)
    return None if make is None else make(schema, level + 1)


def _object(schema: Mapping[str, Any], level: int) -> dict[str, Any]:
    fields = schema.get("properties", {})
    names = dict.fromkeys([*fields, *schema.get("required", ())])
    return {name: example_of(fields[name], level) if name in fields else "a" for name in names}


def _array(schema: Mapping[str, Any], level: int) -> list[Any]:
    return [example_of(schema.get("items", {}), level)] * min(schema.get("minItems", 1), MOST_ITEMS)


def _number(schema: Mapping[str, Any]) -> Any:
    if "minimum" in schema:
        return schema["minimum"]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return min(0, schema.get("maximum", 0), schema.get("exclusiveMaximum", 1) - 1)


def _string(schema: Mapping[str, Any]) -> str:
    text = example_text(str(schema["pattern"])) if "pattern" in schema else "a"
    return text.ljust(min(schema.get("minLength", 0), 10_000), "a")


_EXAMPLES: dict[str, Callable[[Mapping[str, Any], int], Any]] = {
    "object": _object,
    "array": _array,
    "integer": lambda schema, _: _number(schema),
    "number": lambda schema, _: _number(schema),
    "string": lambda schema, _: _string(schema),
    "boolean": lambda *_: True,
    "null": lambda *_: None,
}
