"""The fields every table uses: keys, fixed words and texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from assay.formats.declarative.code_shapes import PythonText, TemplateText
from assay.formats.declarative.from_annotations import an
from assay.formats.declarative.shape import Field, Fields, ListOf, Number, ObjectOf, Rule, Text
from assay.part_options import SAMPLE

RESULT_KEY = Text(min_length=1, max_length=250, pattern=r"[^./\\][^/\\]*")
"""A dataset's key, or the name of a run folder: letters of all scripts and dots, but no path."""


def word(value: str) -> Field:
    return Field(Text(words=(value,)), doc=f"`{value}`", placeholder=False)


def text(doc: str = "", default: str | UnsetType | None = UNSET, *, min_length: int = 0) -> Field:
    return Field(Text(min_length=min_length), default, doc)


def template(
    doc: str, names: tuple[str, ...] = SAMPLE, default: str | UnsetType | None = UNSET, *, min_length: int = 0
) -> Field:
    """A field that holds Jinja text, and what it may read."""
    return Field(TemplateText(names, min_length), default, doc)


def snippet(function: str, doc: str = "") -> Field:
    """A field that holds Python which defines this function."""
    return Field(PythonText(function), doc=doc)


def mapping(
    name: str, doc: str, rule: Rule | None = None, /, *together: Fields | Callable[[], Fields], **fields: Field
) -> ObjectOf:
    """A mapping of these fields."""
    return ObjectOf(name, doc, fields, rule, together)


class Kind(NamedTuple):
    """One of several mappings that a word chooses from: what it is, and what it has of its own."""

    doc: str
    rule: Rule | None
    together: tuple[Fields | Callable[[], Fields], ...]
    fields: Mapping[str, Field]
    example: str = ""


def kind(doc: str, rule: Rule | None = None, /, *together: Fields, **own: Field) -> Kind:
    return Kind(doc, rule, together, own)


def kinds(called: str, table: Mapping[str, Kind], **common: Field) -> dict[str, ObjectOf]:
    """The mappings of a table: each has its name in `type`, the common fields and its own."""
    return {
        name: mapping(an(called.format(name)), doc, rule, *together, type=word(name), **common, **own)
        for name, (doc, rule, together, own, _) in table.items()
    }


NAME = text("Display name.", min_length=1)
DESCRIPTION = text("One or two sentences.", None)
LONG_DESCRIPTION = text("Markdown.", None)
TAGS = Field(ListOf(Text()), [], "Words to search by.")
GENERATION = Field(
    mapping(
        "generation settings",
        "How the model answers; what is left out is set by the run.",
        temperature=Field(Number(least=0), None, "0 for the likeliest answer."),
        top_p=Field(Number(above=0), None, "Nucleus sampling: the share of the likeliest tokens to sample from."),
        max_tokens=Field(Number(whole=True, least=1), None, "The longest answer."),
        stop=Field(ListOf(Text(min_length=1), least=1), None, "Texts that end the answer."),
        seed=Field(Number(whole=True), None, "Passed on to models that take one."),
    ),
    None,
    "How the model answers: `temperature`, `top_p`, `max_tokens`, `stop`, `seed`.",
)
