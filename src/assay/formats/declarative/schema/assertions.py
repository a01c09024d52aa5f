"""Assertions: one scorer, with a type for each of them."""

from __future__ import annotations

from dataclasses import replace

from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.shape import Field, ObjectOf, PartTypes, Tagged
from assay.scorers.assertions.assertion_kinds import ASSERTION_TYPES, KINDS, NEGATION, InAList


def asserting(name: str, called: str, **common: Field) -> ObjectOf:
    """What can be written of an assertion, among other fields."""
    kind = KINDS[name.removeprefix(NEGATION)]
    info = replace(kind.info, doc=f"Not: {kind.info.doc}") if name.startswith(NEGATION) else kind.info
    return object_of(kind.options, called, info=info, word=word(name), common=common)


def _assertion(name: str) -> ObjectOf:
    made = asserting(name, an(f"{name} assertion"), **object_of(InAList).fields)
    return replace(made, example=f"{made.example}, weight: 2")


ASSERTION = Tagged(
    "assertion",
    PartTypes(ASSERTION_TYPES, _assertion),
    aliases={name.replace("_", "-"): name for name in ASSERTION_TYPES if "_" in name},
)
