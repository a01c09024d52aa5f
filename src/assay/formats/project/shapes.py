"""The shape of `assay.yaml`: what its records declare, and what is said to people who write a field elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.formats.declarative.editor_schema import Schema, json_schema
from assay.formats.declarative.from_annotations import object_of
from assay.formats.declarative.shape import (
    Field,
    Fields,
    MapOf,
    Number,
    ObjectOf,
    OrMapping,
    Refused,
    Report,
    Shape,
    Text,
    TextOr,
)
from assay.formats.declarative.yaml_reader import FieldPath
from assay.formats.project.records import ProjectEntry, ProjectModel, Suite, TaskDefaults
from assay.overriding import override
from assay.solvers.conversation_options import GenerationSettings

_OF_A_TASK = ("solver", "scorers", "dataset", "definition", "actions", "metric")


class _Weight(Number):
    """What a task counts."""

    @override
    def check(self, value: object, where: FieldPath, report: Report) -> object:  # type: ignore[override]
        if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0:
            report.wrong(where, f"weights are above 0, got {value}; leave tasks out with `select`")
            return value
        return super().check(value, where, report)  # type: ignore[arg-type]


def _without_nulls(result: Fields, where: FieldPath, report: Report) -> None:
    for name in [name for name, value in result.items() if value is None]:
        del result[name]


_WEIGHT = _Weight(above=0)
_SETTINGS = object_of(GenerationSettings, rule=_without_nulls)


class _Version(Number):
    """The number of the format."""

    @override
    def check(self, value: object, where: FieldPath, report: Report) -> object:  # type: ignore[override]
        if value != 1 or isinstance(value, bool):
            report.wrong(where, "must be 1, the only version there is")
        return value


def _defaults(called: str) -> ObjectOf:
    of_folders = called == "folders"
    own = ", ".join(name for name in TaskDefaults.__struct_fields__ if not (of_folders and name == "timeout"))
    refused: Mapping[str, Field] = {
        word: Field(Refused(f"a {word.removesuffix('s')} belongs into a task or its parent; {called} set {own}"), None)
        for word in _OF_A_TASK
    }
    if of_folders:
        refused = {**refused, "timeout": Field(Refused("is for all tasks of a run: write it in `defaults`"), None)}
    made = object_of(TaskDefaults, called, shapes={"weight": _WEIGHT, "settings": _SETTINGS})
    return replace(made, fields={**made.fields, **refused}, rule=_without_refused)


def _without_refused(result: Fields, where: FieldPath, report: Report) -> None:
    for word in _OF_A_TASK:
        result.pop(word, None)


_NAME: Shape = Text(min_length=1)
_SUITE = object_of(Suite, shapes={"weights": OrMapping(Text(words=("by_size",)), MapOf(_WEIGHT))})
PROJECT = object_of(
    ProjectEntry,
    shapes={
        "version": _Version(whole=True, least=1, most=1),
        "models": MapOf(TextOr(_NAME, object_of(ProjectModel, shapes={"settings": _SETTINGS}))),
        "defaults": _defaults("defaults"),
        "folders": MapOf(_defaults("folders")),
        "suites": MapOf(_SUITE),
    },
)


def project_schema() -> Schema:
    """The JSON Schema of `assay.yaml`, in which nothing is included from other files."""
    schema = json_schema(PROJECT, "assay project file")
    definitions = schema["definitions"]
    for part in definitions.values() if isinstance(definitions, dict) else ():
        if isinstance(part, dict) and isinstance(properties := part.get("properties"), dict):
            properties.pop("$ref", None)
    return schema
