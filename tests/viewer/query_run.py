"""The run that the cases of `query_cases.json` are about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.viewer.demo_runs import run_file

from assay.core.types import PartSpec

CASES: dict[str, Any] = json.loads(Path(__file__).with_name("query_cases.json").read_text(encoding="utf-8"))


def make_query_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    run = run_file("query-model", 2)
    by_rule = (PartSpec(key="score", use="mean", options={"field": "score", "scorer": "rule"}),)
    definitions = tuple(
        replace(definition, name=name, aggregates=by_rule)
        for definition, name in zip(run.definitions, ("gsm8k", "qa"), strict=False)
    )
    made = replace(run, definitions=definitions, tasks={"gsm8k": "1", "qa": "2"})
    (folder / "run.json").write_bytes(msgspec.json.encode(made))
    lines = [json.dumps({**record, "key": full_key(record["key"])}) for record in CASES["records"]]
    (folder / "journal.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def full_key(key: str) -> str:
    return key.rjust(16, "0")
