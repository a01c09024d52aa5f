"""Shapes: a small vocabulary for saying what a YAML field may hold, with one checker and one JSON Schema export.

The checker walks the whole value, reports everything that is wrong at once (each with its field path), and returns
the value with defaults filled in. A field that is not text may hold a whole placeholder (`<< config.x >>`) while the
configuration is still unknown.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from assay.tasks.declarative.yaml_reader import Document, FieldPath, nearest

PLACEHOLDER = re.compile(r"\s*<<\s*(config|secrets)\.([A-Za-z0-9_\-]+)\s*>>\s*\Z")
REQUIRED: Any = object()
"""The default of a field that has none."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text, perhaps of a pattern, perhaps one of a few words."""

    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `whole` for integers."""

    whole: bool = False
    least: float | None = None
    above: float | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Whatever YAML can say."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number or truth value: what filters compare against."""


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Shape
    least: int = 0


@dataclass(frozen=True, slots=True)
class MapOf:
    value: Shape
    least: int = 0


@dataclass(frozen=True, slots=True)
class Either:
    """One of two shapes, told apart by whether the value is a mapping."""

    plain: Shape
    mapping: Shape


@dataclass(frozen=True, slots=True)
class Field:
    shape: Shape
    default: Any = REQUIRED
    doc: str = ""
    nullable: bool = False
    placeholder: bool = True
    """Whether a whole `<< config.x >>` may stand here until the configuration is known."""


Rule = Callable[[dict[str, Any], FieldPath, "Report"], None]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A mapping of known fields."""

    name: str
    doc: str
    fields: dict[str, Field]
    rule: Rule | None = None
    """What no single field can say: which fields go together."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """One of several mappings, told apart by the word in `tag`."""

    what: str
    choices: dict[str, Shaped]
    default: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)
    tag: str = "type"


@dataclass(frozen=True, slots=True)
class Later:
    """A shape that refers to one defined further down, for builders that nest."""

    name: str
    get: Callable[[], Shape]


Shape = Text | Number | Truth | Anything | Scalar | ListOf | MapOf | Either | Shaped | Tagged | Later


class Report:
    """What was found wrong, in the order of the file."""

    def __init__(self, document: Document, *, placeholders: bool) -> None:
        self.document = document
        self.placeholders = placeholders
        self.errors: list[tuple[FieldPath, str]] = []

    def wrong(self, where: FieldPath, message: str) -> None:
        self.errors.append((where, message))

    def warn(self, where: FieldPath, message: str) -> None:
        self.document.warn(where, message)

    def raise_errors(self) -> None:
        if not self.errors:
            return
        sentences = [self.document.sentence(where, message) for where, message in self.errors[:20]]
        if len(self.errors) > 20:
            sentences.append(f"… and {len(self.errors) - 20} more")
        raise self.document.error(*self.errors[0]) if len(self.errors) == 1 else _joined(sentences)


def _joined(sentences: list[str]) -> Exception:
    from assay.core.errors import UsageError

    return UsageError("\n".join(sentences))


def check(value: Any, shape: Shape, where: FieldPath, report: Report, *, placeholder: bool = True) -> Any:
    """The value with defaults filled in; what is wrong goes to the report."""
    if isinstance(shape, Later):
        shape = shape.get()
    if placeholder and report.placeholders and isinstance(value, str) and not isinstance(shape, (Text, Shaped, Tagged)):
        if PLACEHOLDER.match(value):
            return value
    elif isinstance(shape, Text) and shape.words and report.placeholders and isinstance(value, str) and "<<" in value:
        return value
    return _CHECKS[type(shape)](value, shape, where, report)


def _text(value: Any, shape: Text, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, str):
        report.wrong(where, f"expected text, got {_said(value)}")
    elif shape.words and value not in shape.words:
        report.wrong(where, f"`{value}` is not allowed here. {nearest(value, shape.words)}")
    elif len(value) < shape.min_length:
        report.wrong(where, "must not be empty")
    elif shape.max_length is not None and len(value) > shape.max_length:
        report.wrong(where, f"{len(value)} characters; at most {shape.max_length} are allowed")
    elif shape.pattern and not (report.placeholders and "<<" in value) and not re.fullmatch(shape.pattern, value):
        report.wrong(where, f"`{value}` does not match {shape.pattern}")
    return value


def _number(value: Any, shape: Number, where: FieldPath, report: Report) -> Any:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if shape.whole and not whole:
        report.wrong(where, f"expected a whole number, got {_said(value)}")
    elif not whole and (not isinstance(value, float) or not math.isfinite(value)):
        report.wrong(where, f"expected a number, got {_said(value)}")
    elif whole and abs(value) > sys.float_info.max:
        report.wrong(where, "expected a number up to about 1.8e308")
    elif shape.least is not None and value < shape.least:
        report.wrong(where, f"must be at least {shape.least:g}, got {value}")
    elif shape.above is not None and value <= shape.above:
        report.wrong(where, f"must be above {shape.above:g}, got {value}")
    return value


def _truth(value: Any, _: Truth, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, bool):
        report.wrong(where, f"expected true or false, got {_said(value)}")
    return value


def _anything(value: Any, _: Anything, where: FieldPath, report: Report) -> Any:
    return value


def _scalar(value: Any, _: Scalar, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, (str, bool, int, float)):
        report.wrong(where, f"expected a text, a number or true/false, got {_said(value)}")
    return value


def _list(value: Any, shape: ListOf, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, list):
        report.wrong(where, f"expected a list, got {_said(value)}")
        return value
    if len(value) < shape.least:
        report.wrong(where, f"needs at least {shape.least} item")
    return [check(item, shape.item, (*where, at), report) for at, item in enumerate(value)]


def _map(value: Any, shape: MapOf, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, dict):
        report.wrong(where, f"expected a mapping, got {_said(value)}")
        return value
    if len(value) < shape.least:
        report.wrong(where, "must not be empty")
    return {name: check(item, shape.value, (*where, name), report) for name, item in value.items()}


def _either(value: Any, shape: Either, where: FieldPath, report: Report) -> Any:
    return check(value, shape.mapping if isinstance(value, dict) else shape.plain, where, report)


def _shaped(value: Any, shape: Shaped, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, dict):
        report.wrong(where, f"expected {shape.name} (a mapping), got {_said(value)}")
        return value
    for name in value:
        if name not in shape.fields:
            report.wrong((*where, name), f"unknown field of {shape.name}. {nearest(name, shape.fields)}")
    result: dict[str, Any] = {}
    before = len(report.errors)
    for name, entry in shape.fields.items():
        if name not in value:
            if entry.default is REQUIRED:
                report.wrong(where, f"{shape.name} needs the field `{name}`")
            else:
                result[name] = entry.default
        elif value[name] is None and (entry.nullable or entry.default is None):
            result[name] = None
        else:
            result[name] = check(value[name], entry.shape, (*where, name), report, placeholder=entry.placeholder)
    if shape.rule is not None and len(report.errors) == before:
        shape.rule(result, where, report)
    return result


def _tagged(value: Any, shape: Tagged, where: FieldPath, report: Report) -> Any:
    if not isinstance(value, dict):
        report.wrong(where, f"expected {shape.what} (a mapping with `{shape.tag}`), got {_said(value)}")
        return value
    word = value.get(shape.tag, shape.default)
    if word is None:
        report.wrong(where, f"{shape.what} needs `{shape.tag}`: one of {', '.join(shape.choices)}")
        return value
    if word in shape.aliases if isinstance(word, str) else False:
        report.warn((*where, shape.tag), f"`{word}` is an old name; write `{shape.aliases[word]}`")
        word = shape.aliases[word]
    chosen = shape.choices.get(word) if isinstance(word, str) else None
    if chosen is None:
        report.wrong((*where, shape.tag), f"unknown {shape.what} `{word}`. {nearest(str(word), shape.choices)}")
        return value
    return _shaped({**value, shape.tag: word}, chosen, where, report)


_CHECKS: dict[type, Callable[[Any, Any, FieldPath, Report], Any]] = {
    Text: _text,
    Number: _number,
    Truth: _truth,
    Anything: _anything,
    Scalar: _scalar,
    ListOf: _list,
    MapOf: _map,
    Either: _either,
    Shaped: _shaped,
    Tagged: _tagged,
}


def _said(value: Any) -> str:
    """A value as an error message shows it."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = str(value)
    return f"the text `{text[:60]}`" if isinstance(value, str) else text[:60]


def json_schema(shape: Shape, title: str) -> dict[str, Any]:
    """The JSON Schema (draft 7 in what it uses) of a shape, for editors."""
    definitions: dict[str, Any] = {}
    body = _schema_of(shape, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **body,
        "definitions": dict(sorted(definitions.items())),
    }


def _schema_of(  # noqa: PLR0911, PLR0912 - one case per shape
    shape: Shape, definitions: dict[str, Any]
) -> dict[str, Any]:
    match shape:
        case Later():
            return _schema_of(shape.get(), definitions)
        case Text():
            schema: dict[str, Any] = {"type": "string"}
            if shape.words:
                return {"enum": list(shape.words)}
            if shape.min_length:
                schema["minLength"] = shape.min_length
            if shape.max_length:
                schema["maxLength"] = shape.max_length
            if shape.pattern:
                schema["pattern"] = f"^(?:{shape.pattern}|.*<<.*>>.*)$"
            return schema
        case Number():
            schema = {"type": "integer" if shape.whole else "number"}
            if shape.least is not None:
                schema["minimum"] = shape.least
            if shape.above is not None:
                schema["exclusiveMinimum"] = shape.above
            return schema
        case Truth():
            return {"type": "boolean"}
        case Anything():
            return {}
        case Scalar():
            return {"type": ["string", "number", "boolean"]}
        case ListOf():
            return {"type": "array", "items": _schema_of(shape.item, definitions), "minItems": shape.least}
        case MapOf():
            return {"type": "object", "additionalProperties": _schema_of(shape.value, definitions)}
        case Either():
            return {"anyOf": [_schema_of(shape.plain, definitions), _schema_of(shape.mapping, definitions)]}
        case Shaped():
            return _schema_of_fields(shape, definitions, None)
        case Tagged():
            return _schema_of_choices(shape, definitions)


def _may_be_placeholder(shape: Shape) -> bool:
    """Whether an editor must let `<< config.x >>` stand where it would not fit."""
    return bool(shape.words) if isinstance(shape, Text) else not isinstance(shape, (Anything, Shaped, Tagged))


def _schema_of_choices(shape: Tagged, definitions: dict[str, Any]) -> dict[str, Any]:
    """`if type is x then x`, so that an editor reports the fields of the chosen kind and not of all of them."""
    words = [*shape.choices, *shape.aliases]
    schema: dict[str, Any] = {"type": "object", "properties": {shape.tag: {"enum": words}}, "allOf": []}
    if shape.default is None:
        schema["required"] = [shape.tag]
    for word, chosen in shape.choices.items():
        names = [word, *(old for old, new in shape.aliases.items() if new == word)]
        condition: dict[str, Any] = {"properties": {shape.tag: {"enum": names}}}
        if word != shape.default:
            condition["required"] = [shape.tag]
        then = _schema_of_fields(chosen, definitions, shape.tag)
        schema["allOf"].append({"if": condition, "then": then})
    return schema


def _schema_of_fields(shape: Shaped, definitions: dict[str, Any], tag: str | None) -> dict[str, Any]:
    name = re.sub(r"\W+", "_", shape.name.removeprefix("a ").removeprefix("an "))
    if name not in definitions:
        definitions[name] = {}  # a nested builder refers to itself
        properties: dict[str, Any] = {}
        for key, entry in shape.fields.items():
            schema = _schema_of(entry.shape, definitions)
            if key == tag:
                schema = {}
            elif entry.placeholder and _may_be_placeholder(entry.shape):
                schema = {"anyOf": [schema, {"type": "string", "pattern": r"^\s*<<.*>>\s*$"}]}
            if (entry.nullable or entry.default is None) and schema:
                schema = {"anyOf": [schema, {"type": "null"}]}
            if entry.doc:
                schema = {**schema, "description": entry.doc} if "$ref" not in schema else schema
            if entry.default not in (REQUIRED, None):
                schema = {**schema, "default": entry.default} if "$ref" not in schema else schema
            properties[key] = schema
        properties["$ref"] = {"type": "string", "description": "Another YAML file whose content stands here."}
        required = [key for key, entry in shape.fields.items() if entry.default is REQUIRED and key != tag]
        definitions[name] = {
            "type": "object",
            "description": shape.doc,
            "properties": properties,
            "additionalProperties": False,
        }
        if required:
            definitions[name]["if"] = {"not": {"required": ["$ref"]}}
            definitions[name]["then"] = {"required": required}
    return {"$ref": f"#/definitions/{name}"}
