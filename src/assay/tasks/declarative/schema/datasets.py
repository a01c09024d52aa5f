"""Datasets: where samples come from."""

from __future__ import annotations

from typing import Any

from assay.tasks.declarative.schema.fields import REFERENCED_KEY, text, word
from assay.tasks.declarative.schema.filters import FILTER
from assay.tasks.declarative.shape import Anything, Field, ListOf, MapOf, Report, Shaped, Tagged, Text
from assay.tasks.declarative.yaml_reader import FieldPath

_FILTERS = Field(ListOf(FILTER), [], "Rows kept: those that match all.")
_COLUMNS = Field(ListOf(Text(min_length=1)), None, "Columns kept; all when absent.")
SOURCE = Tagged(
    "dataset source",
    {
        "local": Shaped(
            "a local source",
            "A file: .jsonl, .csv, .tsv or .parquet.",
            {
                "type": word("local"),
                "file_path": text("Relative to the file that defines the dataset.", min_length=1),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
        "inline": Shaped(
            "an inline source",
            "Rows written in the YAML file.",
            {
                "type": word("inline"),
                "samples": Field(ListOf(MapOf(Anything()))),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
        "huggingface": Shaped(
            "a huggingface source",
            "A dataset of the hub, pinned to a revision.",
            {
                "type": word("huggingface"),
                "path": text(min_length=1),
                "split": text(min_length=1),
                "revision": text("Commit or tag; also accepted in `load_dataset_kwargs`.", None),
                "load_dataset_kwargs": Field(MapOf(Anything()), {}),
                "filters": _FILTERS,
                "columns": _COLUMNS,
            },
        ),
    },
)


def _dataset_rule(result: dict[str, Any], where: FieldPath, report: Report) -> None:
    old = result.pop("file_path")
    if old is not None and result["source"] is not None:
        report.wrong((*where, "file_path"), "given beside `source`; keep `source`")
    elif old is not None:
        report.warn((*where, "file_path"), "`file_path` is old; write `source: {type: local, file_path: …}`")
        result["source"] = {"type": "local", "file_path": old, "filters": [], "columns": None}
    if result["generator_specification"] is not None:
        report.wrong(
            (*where, "generator_specification"),
            "generated datasets are not supported; generate a file and name it in `source`",
        )
    elif result["source"] is None:
        report.wrong(where, "a dataset needs `source`")


DATASET = Shaped(
    "a dataset",
    "Where samples come from.",
    {
        "key": Field(REFERENCED_KEY),
        "display_name": text(min_length=1),
        "description": text(default=None),
        "long_description": text(default=None),
        "tags": Field(ListOf(Text()), []),
        "source": Field(SOURCE, None),
        "file_path": text("Old; use `source`.", None),
        "generator_specification": Field(Anything(), None),
    },
    _dataset_rule,
)
