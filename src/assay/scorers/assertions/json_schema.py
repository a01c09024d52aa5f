"""JSON Schema, as far as it is a rule about one value: types, fields, items, ranges, patterns and their combinations.

`unsupported` names what a schema asks beyond that (references, formats, dependencies): such a schema is refused rather
than half checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from assay.patterns.matching import pattern_found

JsonSchema = dict[str, Any] | bool


def conforms(value: Any, schema: JsonSchema) -> bool:
    """Whether a value conforms to the schema."""
    if isinstance(schema, bool):
        return schema
    return all(check(value, schema[keyword], schema) for keyword, check in _CHECKS.items() if keyword in schema)


def unsupported(schema: Any) -> str | None:
    """The first part of a schema that is not checked here, as a noun phrase; None when everything is."""
    if isinstance(schema, bool):
        return None
    if not isinstance(schema, dict):
        return f"a schema that is not an object but {type(schema).__name__}"
    for keyword, value in schema.items():
        if keyword not in _CHECKS and keyword not in _ANNOTATIONS:
            return f"`{keyword}`"
        if problem := _KEYWORD_PROBLEMS.get(keyword, lambda _: None)(value):
            return problem
    return None


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are the same number, `true` is none."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right if not _is_number(left) else _is_number(right) and left == right


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and (isinstance(value, int) or value.is_integer()),
}


def _type(value: Any, names: Any, _: JsonSchema) -> bool:
    return any(_TYPES[name](value) for name in ([names] if isinstance(names, str) else names))


def _properties(value: Any, schemas: Any, _: JsonSchema) -> bool:
    return not isinstance(value, dict) or all(
        conforms(value[name], schema) for name, schema in schemas.items() if name in value
    )


def _additional(value: Any, allowed: Any, schema: Any) -> bool:
    if not isinstance(value, dict):
        return True
    patterns = schema.get("patternProperties", {})
    named = schema.get("properties", {})
    additional = [
        name for name in value if name not in named and not any(pattern_found(pattern, name) for pattern in patterns)
    ]
    return all(conforms(value[name], allowed) for name in additional)


def _pattern_properties(value: Any, schemas: Any, _: JsonSchema) -> bool:
    return not isinstance(value, dict) or all(
        conforms(value[name], schema)
        for pattern, schema in schemas.items()
        for name in value
        if pattern_found(pattern, name)
    )


def _multiple(value: Any, of: Any, _: JsonSchema) -> bool:
    if not _is_number(value):
        return True
    return value % of == 0 if isinstance(value, int) and isinstance(of, int) else (value / of).is_integer()


def _unique(value: Any, wanted: Any, _: JsonSchema) -> bool:
    if not wanted or not isinstance(value, list):
        return True
    return not any(same(item, earlier) for at, item in enumerate(value) for earlier in value[:at])


def _at_most(kind: Any, size: Callable[[Any], float], above: Callable[[float, float], bool]) -> Any:
    return lambda value, bound, _: (
        isinstance(value, bool) or not isinstance(value, kind) or not above(size(value), bound)
    )


_NUMBER: Any = (int, float)
_CHECKS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "type": _type,
    "enum": lambda value, allowed, _: any(same(value, item) for item in allowed),
    "const": lambda value, wanted, _: same(value, wanted),
    "required": lambda value, names, _: not isinstance(value, dict) or all(name in value for name in names),
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "propertyNames": lambda value, schema, _: (
        not isinstance(value, dict) or all(conforms(item, schema) for item in value)
    ),
    "minProperties": _at_most(dict, len, lambda size, bound: size < bound),
    "maxProperties": _at_most(dict, len, lambda size, bound: size > bound),
    "items": lambda value, schema, _: not isinstance(value, list) or all(conforms(item, schema) for item in value),
    "contains": lambda value, schema, _: not isinstance(value, list) or any(conforms(item, schema) for item in value),
    "minItems": _at_most(list, len, lambda size, bound: size < bound),
    "maxItems": _at_most(list, len, lambda size, bound: size > bound),
    "uniqueItems": _unique,
    "minLength": _at_most(str, len, lambda size, bound: size < bound),
    "maxLength": _at_most(str, len, lambda size, bound: size > bound),
    "pattern": lambda value, pattern, _: not isinstance(value, str) or pattern_found(pattern, value),
    "minimum": _at_most(_NUMBER, lambda number: number, lambda number, bound: number < bound),
    "maximum": _at_most(_NUMBER, lambda number: number, lambda number, bound: number > bound),
    "exclusiveMinimum": _at_most(_NUMBER, lambda number: number, lambda number, bound: number <= bound),
    "exclusiveMaximum": _at_most(_NUMBER, lambda number: number, lambda number, bound: number >= bound),
    "multipleOf": _multiple,
    "allOf": lambda value, schemas, _: all(conforms(value, schema) for schema in schemas),
    "anyOf": lambda value, schemas, _: any(conforms(value, schema) for schema in schemas),
    "oneOf": lambda value, schemas, _: sum(conforms(value, schema) for schema in schemas) == 1,
    "not": lambda value, schema, _: not conforms(value, schema),
}
_ANNOTATIONS = {"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated"}


def _of_each(schemas: Any) -> str | None:
    if not isinstance(schemas, list):
        return "a combination that is not a list of schemas"
    return next(filter(None, map(unsupported, schemas)), None)


def _of_values(schemas: Any) -> str | None:
    if not isinstance(schemas, dict):
        return "properties that are not an object of schemas"
    return next(filter(None, map(unsupported, schemas.values())), None)


def _names(value: Any) -> str | None:
    good = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if good else "`required` that is not a list of names"


def _bound(value: Any) -> str | None:
    return None if _is_number(value) and math.isfinite(value) else f"the bound {value!r}"


_KEYWORD_PROBLEMS: dict[str, Callable[[Any], str | None]] = {
    "type": lambda value: (
        None
        if all(isinstance(item, str) and item in _TYPES for item in (value if isinstance(value, list) else [value]))
        else f"type {value!r}"
    ),
    "enum": lambda value: None if isinstance(value, list) else "`enum` that is not a list",
    "required": _names,
    "pattern": lambda value: None if isinstance(value, str) else "`pattern` that is not a text",
    "multipleOf": lambda value: _bound(value) or (None if value > 0 else f"multipleOf {value}"),
    **dict.fromkeys(("properties", "patternProperties"), _of_values),
    **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains", "not"), unsupported),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _of_each),
    **dict.fromkeys([keyword for keyword in _CHECKS if keyword.startswith(("min", "max", "exclusive"))], _bound),
}
