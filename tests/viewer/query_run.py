"""The run that the cases of `query_cases.json` are about.

`python -m tests.viewer.query_run` writes `query_rows.json`, which the tests in JavaScript read.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.journals import write_lines
from tests.viewer.demo_runs import run_file

from assay.core.types import PartSpec
from assay.tasks.descriptions import with_descriptions
from assay.viewer.builders import Builders
from assay.viewer.query_rows import QueryRows
from assay.viewer.run_view import RunView

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("query_cases.json").read_text(encoding="utf-8"))


def make_query_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    run = run_file("query-model", 2)
    options = {"field": "score", "scorer": "rule", "bounds": [0.0, 1.0]}
    by_rule = (PartSpec(key="score", use="mean", options=options),)
    definitions = tuple(
        with_descriptions(replace(definition, name=name, aggregates=by_rule))
        for definition, name in zip(run.definitions, ("gsm8k", "qa"), strict=False)
    )
    made = replace(run, definitions=definitions, tasks={"gsm8k": "1", "qa": "2"})
    (folder / "run.json").write_bytes(msgspec.json.encode(made))
    lines = [{**record, "key": full_key(record["key"])} for record in CASES["records"]]
    write_lines(folder / "journal.jsonl", lines)
    return folder


def full_key(key: str) -> str:
    return key.rjust(16, "0")


def rows_of(view: RunView) -> dict[str, Any]:
    """What an exported copy holds of the run: `query_rows.json`, for the tests in JavaScript."""
    rows = QueryRows(view.snapshot(), view.schema(), view.columns([]))
    keys = view.snapshot().column("key").tolist()
    every = [{"key": f"{key:016x}", "fields": rows.row(row, view.line(row))} for row, key in enumerate(keys)]
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode({"fields": view.schema().fields, "rows": every}))
    return plain


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        made = rows_of(RunView("run", make_query_run(Path(name) / "run"), Builders()))
    text = json.dumps(made, ensure_ascii=False, indent=1)
    Path(__file__).with_name("query_rows.json").write_text(text + "\n", encoding="utf-8")
