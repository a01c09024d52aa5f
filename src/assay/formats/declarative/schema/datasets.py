"""Datasets: where samples come from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assay.catalog import CATALOG, resolve
from assay.datasets.rows import RowDataset
from assay.formats.declarative.from_annotations import an, object_of, word
from assay.formats.declarative.records import DatasetEntry, GeneratedSource
from assay.formats.declarative.schema.filters import FILTER
from assay.formats.declarative.shape import Field, Fields, ListOf, ObjectOf, PartTypes, Refused, Report, Tagged, Text
from assay.formats.declarative.yaml_reader import FieldPath
from assay.part_options import info_of
from assay.schema_rules import exactly_one

CALLED_OTHERWISE = {"local": "table", "huggingface": "hub"}
"""Types whose names in the catalog are others."""
_ROWS = object_of(RowDataset, shapes={"filters": ListOf(FILTER)}).fields


def declared(name: str) -> Any:
    """What declares the options of a source: its factory, or for generated rows how they are made."""
    return GeneratedSource if name == "generated" else resolve("dataset", CALLED_OTHERWISE.get(name, name))


def _source(name: str) -> ObjectOf | None:
    if info_of(declared(name)) is None:
        return None
    made = object_of(declared(name), an(f"{name} source"), word=word(name))
    return replace(made, fields=made.fields | _ROWS)


_TYPES = (*CALLED_OTHERWISE, *(name for name in CATALOG["dataset"] if name not in CALLED_OTHERWISE.values()))
SOURCE = Tagged(
    "dataset source",
    PartTypes(_TYPES, _source),
    kind="dataset",
    own=ObjectOf("a source", "A dataset of an installed package or your own.", {"type": Field(Text())}),
    refused=dict.fromkeys(
        ("inspect_ai", "langsmith", "phoenix", "claude_code"),
        "Traces are read from files here: export them, and write `source: {type: traces, file_path: …}`.",
    ),
)


def _old_path(result: Fields, where: FieldPath, report: Report) -> None:
    old = result.pop("file_path")
    if old is not None and result["source"] is not None:
        report.wrong((*where, "file_path"), "`source` is given too; keep only that")
    elif old is not None:
        report.warn((*where, "file_path"), "`file_path` is deprecated; write `source: {type: local, file_path: …}`")
        result["source"] = {"type": "local", "file_path": old, "dtypes": None, "filters": [], "columns": None}
    if result["source"] is None:
        report.wrong(where, "a dataset needs `source`")


DATASET = object_of(
    DatasetEntry,
    "",
    exactly_one("source", "file_path"),
    rule=_old_path,
    shapes={
        "source": SOURCE,
        "generator_specification": Refused(
            "what rows a generator makes is not published: write `source: {type: generated, …}` with their number, "
            "a seed and steps"
        ),
    },
)
