"""A value as a simple JSON Schema demands it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.patterns.example import example_text

MOST_ITEMS = 5
MOST_LEVELS = 7
"""Of the lists of an example: what a schema may demand beyond that has no end."""


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
