"""The reference of YAML files: every type that can be written, its fields and an example, out of the tables.

The same shapes check files and make the JSON Schema of editors; `assay show TYPE` and `docs/reference/declarative.md`
print what is made of them here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from assay.formats.declarative.checked import EDITOR_SCHEMAS
from assay.formats.declarative.code_shapes import ExpressionText, PatternText, PythonText, TemplatedValue, TemplateText
from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.schema.models import ADAPTER
from assay.formats.declarative.schema.scorers import values_given
from assay.formats.declarative.shape import (
    Boolean,
    Field,
    Later,
    ListOf,
    MapOf,
    Number,
    ObjectOf,
    OneOfTwo,
    Refused,
    Scalar,
    Shape,
    Tagged,
    Text,
)
from assay.formats.declarative.yaml_reader import Plain
from assay.part_options import ANSWER

_KINDS = {
    "task definition": "definition",
    "parameter type": "parameter",
    "dataset source": "source",
    "connection type": "connection",
    "filter operator": "filter",
}
"""Where the word for a choice is not what the chosen thing is called."""
_CHOICES = {"chat_message builder": "message builder"}
"""What is used on its own in one place, and is one of several elsewhere: it is described among those."""


class FieldReference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field: its allowed values and its purpose."""

    name: str
    type: str
    doc: str
    required: bool = False
    default: Plain = None
    allowed: tuple[str, ...] = ()
    """The only allowed words."""
    reads: tuple[str, ...] = ()
    """The names that a template may read."""
    kinds: tuple[str, ...] = ()
    """The kinds of things it may hold, each with a reference of its own."""


class TypeReference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One type of thing that can be written: a task, a scorer of a certain type, …"""

    kind: str
    name: str
    """The word that chooses it; the kind itself where there is nothing to choose."""
    doc: str
    tag: str | None = None
    """The field that holds that word."""
    fields: tuple[FieldReference, ...]
    gives: tuple[str, ...] = ()
    """The values that the scores of a scorer hold."""
    example: str

    def ordered(self) -> list[FieldReference]:
        """The fields: what chooses the type, then what must be given, then the rest."""
        return sorted(self.fields, key=lambda field: (field.name != self.tag, not field.required))


@cache
def type_references() -> tuple[TypeReference, ...]:
    """Every type, those of a kind together, what a file begins with first."""
    by_kind: dict[str, list[TypeReference]] = {}
    for kind, name, tag, shape in written_types():
        by_kind.setdefault(kind, []).append(_reference(kind, name, tag, shape))
    return tuple(chain.from_iterable(by_kind.values()))


def types_called(name: str) -> list[TypeReference]:
    """Those of this name, whatever their kind; `-`, `_` and spaces are the same."""
    return [reference for reference in type_references() if _normalized(reference.name) == _normalized(name)]


def types_of(kind: str) -> list[TypeReference]:
    """All types of a kind: every scorer, every solver, …"""
    return [reference for reference in type_references() if reference.kind == kind.lower()]


def _normalized(name: str) -> str:
    return re.sub(r"[-_ ]+", "_", name.lower())


def written_types() -> Iterator[tuple[str, str, str | None, ObjectOf]]:
    """Every mapping that the tables know, from the outside in: kind, name, the field that chooses it, fields."""
    seen: set[tuple[str, str]] = set()
    for root in (*EDITOR_SCHEMAS.values(), ADAPTER):
        yield from _types_below(root, seen)


def _types_below(root: Shape, seen: set[tuple[str, str]]) -> Iterator[tuple[str, str, str | None, ObjectOf]]:
    """Those that were not seen before, nearest first."""
    waiting = deque([root])
    while waiting:
        shape = waiting.popleft()
        mappings: list[tuple[str, str, str | None, ObjectOf]] = []
        if isinstance(shape, Tagged):
            kind = kind_name(shape)
            mappings = [(kind, word, shape.tag, chosen) for word, chosen in shape.choices.items()]
        elif isinstance(shape, ObjectOf) and kind_name(shape) not in _CHOICES.values():
            mappings = [(kind_name(shape), kind_name(shape), None, shape)]
        waiting.extend(_inside(shape))
        for mapping in mappings:
            if mapping[:2] not in seen:
                seen.add(mapping[:2])
                yield mapping
                waiting.extend(field.shape for field in mapping[3].fields.values())


def _inside(shape: Shape) -> list[Shape]:
    match shape:
        case ListOf():
            return [shape.item]
        case MapOf():
            return [shape.value]
        case OneOfTwo():
            return [shape.first, shape.second]
        case Later():
            return [shape.get()]
    return []


def kind_name(shape: Tagged | ObjectOf) -> str:
    """What a thing is called: `scorer`, `task specification`."""
    if isinstance(shape, Tagged):
        return _KINDS.get(shape.what, shape.what)
    name = re.sub(r"^an? ", "", shape.name)
    return _CHOICES.get(name, name)


def _reference(kind: str, name: str, tag: str | None, shape: ObjectOf) -> TypeReference:
    gives: Sequence[str] | None = values_given(name, {}) if kind == "scorer" else None
    return TypeReference(
        kind=kind,
        name=name,
        doc=shape.doc,
        tag=tag,
        fields=tuple(_field(key, entry, chooses=key == tag) for key, entry in shape.fields.items()),
        gives=tuple(gives or ()),
        example=_example(name, tag, shape),
    )


def fields_of(declared: Any) -> tuple[FieldReference, ...]:
    """The options that a part outside of the tables declares."""
    return tuple(_field(key, entry, chooses=False) for key, entry in object_of(declared).fields.items())


def _example(name: str, tag: str | None, shape: ObjectOf) -> str:
    """What the part says, with the field that chooses it where it says the others in one line."""
    if not shape.example or "\n" in shape.example:
        return shape.example
    return f"{{{tag}: {name}, {shape.example}}}\n"


def _field(name: str, entry: Field, *, chooses: bool) -> FieldReference:
    required = entry.default is UNSET
    return FieldReference(
        name=name,
        type=type_text(entry.shape),
        doc="Chooses this type." if chooses else entry.doc,
        required=required,
        default=None if entry.default is UNSET else entry.default,
        allowed=_words(entry.shape),
        reads=_names_read(entry.shape),
        kinds=tuple(dict.fromkeys(_kinds(entry.shape))),
    )


def type_text(shape: Shape) -> str:  # noqa: PLR0911, PLR0912 - one case per shape
    """The allowed values, in a few words."""
    match shape:
        case Later():
            return type_text(shape.get())
        case Text(words=words) if words:
            return _one_of(words)
        case Text():
            return "key" if shape.pattern and shape.max_length else "text"
        case TemplateText(names=names):
            return "template over the answer" if names == ANSWER else "template"
        case ExpressionText():
            return "expression"
        case PatternText():
            return "text"
        case PythonText():
            return f"Python with `{shape.function}`"
        case Number():
            return ("whole number" if shape.whole else "number") + _limits(shape)
        case Boolean():
            return "true or false"
        case Scalar():
            return "text, number or true/false"
        case TemplatedValue():
            return "any value; its texts are templates over the answer"
        case ListOf():
            return f"list of {type_text(shape.item)}{f' (at least {shape.least})' if shape.least else ''}"
        case MapOf():
            return f"mapping of names to {type_text(shape.value)}"
        case OneOfTwo():
            return f"{type_text(shape.first)} or {type_text(shape.second)}"
        case Refused():
            return "nothing"
        case Tagged() | ObjectOf():
            return kind_name(shape)
    return "anything"


def _one_of(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _limits(shape: Number) -> str:
    if shape.least is not None:
        return f" from {shape.least:g}" + (f" to {shape.most:g}" if shape.most is not None else "")
    return f" above {shape.above:g}" if shape.above is not None else ""


def _words(shape: Shape) -> tuple[str, ...]:
    if isinstance(shape, Text):
        return shape.words
    return tuple(word for inner in _inside(shape) if not isinstance(shape, Later) for word in _words(inner))


def _names_read(shape: Shape) -> tuple[str, ...]:
    if isinstance(shape, TemplateText | ExpressionText | TemplatedValue):
        return shape.names or ()
    return ()


def _kinds(shape: Shape) -> Iterator[str]:
    if isinstance(shape, Tagged | ObjectOf):
        yield kind_name(shape)
    for inner in _inside(shape):
        yield from _kinds(inner)


def grouped(references: Sequence[TypeReference]) -> list[list[TypeReference]]:
    """Types of one kind that have exactly the same fields and values, together: `mean`, `max`, `min`, `std_dev`."""
    groups: dict[bytes, list[TypeReference]] = {}
    for reference in references:
        own = [field for field in reference.fields if field.name != reference.tag]
        groups.setdefault(msgspec.json.encode([reference.kind, own, reference.gives]), []).append(reference)
    return list(groups.values())
