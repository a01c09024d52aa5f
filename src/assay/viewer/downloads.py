"""Downloads of selected samples: a table, or a task file. Made by the code of `assay export`."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

from msgspec import Struct

from assay.core.errors import UsageError
from assay.results.frames.attempt_rows import attempts_table
from assay.results.frames.frame_source import RunSource
from assay.results.frames.in_text import csv_chunks, json_line_chunks
from assay.results.frames.libraries import write_parquet
from assay.runs.later.regressions import check_one_metric, each_once, encoded, regression_lines
from assay.runs.later.yaml_regressions import run_file, yaml_regressions
from assay.viewer.query import Filters
from assay.viewer.run_view import RunView
from assay.viewer.selecting import offsets_of

MOST_ATTEMPTS = 100_000
"""A file is made in memory; `assay export` has no such bound."""
TYPES = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
    "task": "application/jsonl",
}


class Download(Struct, frozen=True):
    name: str
    media_type: str
    data: bytes


def download(views: Sequence[RunView], filters: Filters, form: str, others: list[RunView]) -> Download:
    """The attempts that match, of one run or of several."""
    if form not in TYPES:
        raise UsageError(f"`format` is one of {', '.join(TYPES)}, got `{form[:40]}`")
    sources = [_source(view, filters, others) for view in views]
    total = sum(len(source.picked or ()) for source in sources)
    if total > MOST_ATTEMPTS:
        raise UsageError(f"{total:,} attempts are too many to download at once; `assay export` writes them")
    if form == "task":
        return _task(sources)
    return Download(f"{_file_name(views)}.{form}", TYPES[form], _data(sources, form))


def _source(view: RunView, filters: Filters, others: list[RunView]) -> RunSource:
    rows = view.rows(filters, "order", False, others)
    return replace(RunSource.of(view.folder, view.name), picked=frozenset(offsets_of(view, rows)))


def _task(sources: Sequence[RunSource]) -> Download:
    of_yaml = yaml_regressions(sources)
    if of_yaml is not None:
        return Download("regressions.yaml", "application/yaml", run_file(of_yaml))
    lines = each_once(line for source in sources for line in regression_lines(source))
    check_one_metric(lines, "this selection")
    return Download("regressions.jsonl", TYPES["task"], encoded(lines))


def _data(sources: Sequence[RunSource], form: str) -> bytes:
    table = attempts_table(sources)
    if form == "parquet":
        file = io.BytesIO()
        write_parquet(table, file)
        return file.getvalue()
    return "".join(csv_chunks(table) if form == "csv" else json_line_chunks(table)).encode()


def _file_name(views: Sequence[RunView]) -> str:
    """With only characters that need no escaping in a header."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(view.name for view in views))[:80].strip("-.") or "samples"
