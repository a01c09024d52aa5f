"""The JSON Schema of a shape, draft 7 in what it uses: what an editor needs to help while a file is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter

from msgspec import UNSET

from assay.catalog import OFFERED, OTHER_MODELS, OWN_NAME, SAID_BY_TASKS, published
from assay.formats.declarative.code_shapes import ExpressionText, PatternText, PythonText, TemplatedValue, TemplateText
from assay.formats.declarative.extending import ABSTRACT, EXTENDS, PARTS
from assay.formats.declarative.own_options import own_signature
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Later,
    ListOf,
    MapOf,
    Number,
    ObjectOf,
    OrMapping,
    OrWithField,
    Refused,
    Scalar,
    Shape,
    Tagged,
    Text,
    TextOr,
    declared_options,
)
from assay.formats.declarative.yaml_reader import Plain

Schema = dict[str, Plain]


@dataclass(frozen=True, slots=True)
class Known:
    """What an editor can offer in one task file."""

    columns: tuple[str, ...] = ()
    """Of its dataset."""
    scores: tuple[str, ...] = ()
    """The values of its scorers, as `verdict.is_correct`."""

    def read_by(self, names: tuple[str, ...] | None) -> list[Plain]:
        """The templates of one name that may stand where these names may be read."""
        columns = self.columns if names is None or "sample" in names else ()
        scores = self.scores if names is not None and "scores" in names else ()
        of_row = [f"sample.{name}" if name.isidentifier() else f"sample[{name!r}]" for name in columns]
        return [f"{{{{ {path} }}}}" for path in (*of_row, *(f"scores.{name}" for name in scores))]


def json_schema(shape: Shape, title: str, own: tuple[str, ...] = (), known: Known | None = None) -> Schema:
    """The schema of a whole file; `own` are parts of the author's own whose options it lists, and `known` what it
    offers in templates.
    """
    definitions = Definitions(own=own, known=known or Known())
    body = _schema_of(shape, definitions)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        **body,
        "definitions": dict(sorted(definitions.schemas.items())),
    }


@dataclass(frozen=True, slots=True)
class Definitions:
    """What has been described so far, and whether the current part may contain placeholders."""

    schemas: Schema = field(default_factory=dict)
    configured: bool = False
    own: tuple[str, ...] = ()
    known: Known = Known()

    def inside(self, entry: Field) -> Definitions:
        return self if self.configured or not entry.configured else replace(self, configured=True)


def _schema_of(shape: Shape, definitions: Definitions) -> Schema:  # noqa: PLR0911, PLR0912 - one case per shape
    match shape:
        case Later():
            return _schema_of(shape.get(), definitions)
        case Text() if shape.words:
            return {"enum": [*shape.words, *(published(shape.kind) if shape.kind else ())]}
        case Text():
            placeholder = "|.*<<.*>>.*" if definitions.configured else ""
            pattern = f"^(?:{shape.pattern}{placeholder})$" if shape.pattern else None
            return _limited("string", minLength=shape.min_length or None, maxLength=shape.max_length, pattern=pattern)
        case TemplateText():
            return _offering(
                definitions.known.read_by(shape.names), _limited("string", minLength=shape.min_length or None)
            )
        case PatternText():
            return _limited("string", minLength=shape.min_length or None)
        case ExpressionText():
            return _offering(definitions.known.read_by(shape.names), {"type": "string", "minLength": 1})
        case PythonText():
            return {"type": "string", "minLength": 1}
        case Number():
            kind = "integer" if shape.whole else "number"
            return _limited(kind, minimum=shape.least, exclusiveMinimum=shape.above, maximum=shape.most)
        case Boolean():
            return {"type": "boolean"}
        case Anything() | TemplatedValue():
            return {}
        case TextOr():
            return {"anyOf": [_schema_of(shape.first, definitions), _schema_of(shape.second, definitions)]}
        case Scalar():
            return {"type": ["string", "number", "boolean"]}
        case ListOf():
            return {"type": "array", "items": _schema_of(shape.item, definitions), "minItems": shape.least}
        case MapOf():
            return {"type": "object", "additionalProperties": _schema_of(shape.value, definitions)}
        case OrMapping():
            mapping, plain = _schema_of(shape.second, definitions), _schema_of(shape.first, definitions)
            return {"if": {"type": "object"}, "then": mapping, "else": plain}
        case OrWithField():
            given, other = _schema_of(shape.second, definitions), _schema_of(shape.first, definitions)
            return {"type": "object", "if": {"required": [shape.field]}, "then": given, "else": other}
        case Refused():
            return {"not": {}}
        case ObjectOf():
            return _schema_of_fields(shape, definitions, None)
        case Tagged():
            name = f"any_{_definition_name(shape.what, definitions)}"
            if name not in definitions.schemas:
                definitions.schemas[name] = {}  # a nested builder refers to itself
                definitions.schemas[name] = _schema_of_choices(shape, definitions)
            return {"$ref": f"#/definitions/{name}"}
    raise AssertionError(f"no schema for a {type(shape).__name__}")


def _offering(words: list[Plain], other: Schema) -> Schema:
    """Words that an editor completes, and anything else that may stand there."""
    return {"anyOf": [{"enum": words}, other]} if words else other


def _limited(kind: str, **limits: float | str | None) -> Schema:
    """Values of a type within the limits that are set."""
    return {"type": kind, **{name: limit for name, limit in limits.items() if limit is not None}}


def _may_be_placeholder(shape: Shape) -> bool:
    """Whether an editor must accept `<< config.x >>` where its type would not fit."""
    return bool(shape.words) if isinstance(shape, Text) else shape.may_be_placeholder


def _schema_of_choices(shape: Tagged, definitions: Definitions) -> Schema:
    """`if type is x then x`, so that an editor reports the fields of the chosen kind and not of all of them."""
    words: list[Plain] = [*shape.choices, *shape.aliases]
    conditions: list[Plain] = []
    for word, chosen in shape.choices.items():
        names: list[Plain] = [word, *(old for old, new in shape.aliases.items() if new == word)]
        condition: Schema = {"properties": {shape.tag: {"enum": names}}}
        if word != shape.default:
            condition["required"] = [shape.tag]
        then = _schema_of_fields(chosen, definitions, shape.tag)
        conditions.append({"if": condition, "then": then})
    named: Schema = {"enum": words}
    if shape.own is not None and shape.kind is not None:
        elsewhere: Schema = {"type": "string", "pattern": f"^{OWN_NAME.pattern}$"}
        installed = published(shape.kind)
        named = {"anyOf": [{"enum": [*words, *installed]}, elsewhere]}
        shared = {
            key: _schema_of_field(key, entry, definitions, key == shape.tag) for key, entry in shape.own.fields.items()
        }
        is_own: Schema = {"properties": {shape.tag: elsewhere}, "required": [shape.tag]}
        conditions.append({"if": is_own, "then": {"properties": shared}})
        for word in dict.fromkeys([*installed, *definitions.own]):
            is_this: Schema = {"properties": {shape.tag: {"const": word}}, "required": [shape.tag]}
            conditions.append({"if": is_this, "then": _schema_of_own(shape.kind, word, shared, definitions)})
    schema: Schema = {"type": "object", "properties": {shape.tag: named}, "allOf": conditions}
    chosen_here: list[Plain] = [{"required": [shape.tag]}, {"required": ["$ref"]}]  # or in the file that is named
    return schema if shape.default is not None else {**schema, "anyOf": chosen_here}


def _schema_of_own(kind: str, word: str, shared: Mapping[str, Plain], definitions: Definitions) -> Schema:
    """The options of a part that is not ours, as its source shows them without being imported."""
    signature = own_signature(kind, word)
    if signature is None:
        return {"properties": dict(shared)}
    offered = {*OFFERED.get(kind, ()), *shared}
    parameters = [parameter for name, parameter in signature.parameters.items() if name not in offered]
    named = [parameter.name for parameter in parameters if parameter.kind in (_EITHER, Parameter.KEYWORD_ONLY)]
    fields = declared_options(kind, word)
    options = {
        name: _schema_of_field(name, fields[name], definitions, False) if name in fields else {} for name in named
    }
    also: dict[str, Plain] = {"$ref": {}, **({name: {} for name in SAID_BY_TASKS} if kind == "aggregate" else {})}
    schema: Schema = {"properties": {**also, **options, **shared}}
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
        schema["additionalProperties"] = False
    given_anyway = ("model",) if kind == "scorer" and any(name in named for name in OTHER_MODELS) else ()
    empty = Parameter.empty
    required: list[Plain] = [
        parameter.name
        for parameter in parameters
        if parameter.name in named and parameter.default is empty and parameter.name not in given_anyway
    ]
    return {**schema, "if": {"not": {"required": ["$ref"]}}, "then": {"required": required}} if required else schema


_EITHER = Parameter.POSITIONAL_OR_KEYWORD


def _definition_name(name: str, definitions: Definitions) -> str:
    return re.sub(r"\W+", "_", name) + ("_with_parameters" if definitions.configured else "")


def _schema_of_fields(shape: ObjectOf, definitions: Definitions, tag: str | None) -> Schema:
    name = _definition_name(shape.name.removeprefix("a ").removeprefix("an "), definitions)
    name += "_alone" if tag is None and "type" in shape.fields else ""  # there its `type` is checked as any field
    if name not in definitions.schemas:
        definitions.schemas[name] = {}  # a nested builder refers to itself
        properties = {key: _schema_of_field(key, entry, definitions, key == tag) for key, entry in shape.fields.items()}
        properties["$ref"] = {"type": "string", "description": "Another YAML file whose content stands here."}
        schema: Schema = {
            "type": "object",
            "description": shape.doc,
            "properties": properties,
            "additionalProperties": False,
        }
        required: list[Plain] = [key for key, each in shape.fields.items() if each.default is UNSET and key != tag]
        rules: list[Plain] = [rule() if callable(rule) else rule for rule in shape.together]
        if required or rules:
            then: Schema = {"required": required} if required else {}
            elsewhere: list[Plain] = [{"required": ["$ref"]}]
            if EXTENDS in shape.fields:  # the fields of one of the two files need not be complete
                elsewhere += [{"required": [EXTENDS]}, {"required": [ABSTRACT]}]
                parts = {key: properties[key] for key in PARTS}
                properties |= {key: {} for key in PARTS}  # checked below
                then["properties"] = parts
            schema |= {"if": {"not": {"anyOf": elsewhere}}, "then": then | ({"allOf": rules} if rules else {})}
        definitions.schemas[name] = schema
    return {"$ref": f"#/definitions/{name}"}


def _schema_of_field(name: str, entry: Field, definitions: Definitions, is_tag: bool) -> Plain:
    definitions = definitions.inside(entry)
    schema = {} if is_tag else _schema_of(entry.shape, definitions)
    if isinstance(entry.shape, Text) and name.endswith("_column"):
        schema = _offering([*definitions.known.columns], schema)
    if not is_tag and definitions.configured and entry.placeholder and _may_be_placeholder(entry.shape):
        schema = {"anyOf": [schema, {"type": "string", "pattern": r"^\s*<<.*>>\s*$"}]}
    if entry.default is None and schema:
        schema = {"anyOf": [schema, {"type": "null"}]}
    if "$ref" in schema:
        return schema
    if entry.doc:
        schema = {**schema, "description": entry.doc}
    return schema if entry.default is UNSET or entry.default is None else {**schema, "default": entry.default}
