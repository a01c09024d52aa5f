"""Rules between fields as JSON Schema: what an editor can know of them while a file is written."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

Schema = dict[str, Any]
REFERS: Schema = {"type": "object", "required": ["$ref"]}
"""The content of another file stands here, which an editor does not see."""


def given(name: str) -> Schema:
    """The field is there and not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def absent(*names: str) -> Schema:
    """None of the fields is there, but for nulls."""
    return {"properties": {name: {"type": "null"} for name in names}}


def exactly_one(*names: str) -> Schema:
    return {"oneOf": [given(name) for name in names]}


def at_least_one(*names: str) -> Schema:
    return {"anyOf": [given(name) for name in names]}


def all_of(*schemas: Schema) -> Schema:
    return {"allOf": list(schemas)}


def implies(condition: Schema, then: Schema) -> Schema:
    return {"if": condition, "then": then}


def is_one(name: str, words: Collection[str]) -> Schema:
    """The field is there and one of the words."""
    return {"type": "object", "required": [name], "properties": {name: {"enum": list(words)}}}


def of_type(*words: str) -> Schema:
    """A mapping of one of these types, or one that stands in another file."""
    return {"anyOf": [REFERS, is_one("type", words)]}
