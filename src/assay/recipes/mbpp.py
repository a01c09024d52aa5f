"""The records of MBPP: which are used, and which are shown before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources

TEST_TASKS = range(11, 511)
EXAMPLE_TASKS = (2, 3, 4)
"""As in the publication: tasks 2 to 4 are few-shot examples, 11 to 510 the test."""


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    sanitized = settings.variant == "sanitized"
    name = sources.find("sanitized-mbpp.json" if sanitized else "mbpp.jsonl") or ""
    by_id = {record["task_id"]: _fields(record, name) for record in sources.records(name)}
    shown = [by_id[task] for task in EXAMPLE_TASKS if task in by_id][: settings.shots]
    asked = [fields for task, fields in by_id.items() if task in TEST_TASKS]
    yield TaskRecords("mbpp-sanitized" if sanitized else "mbpp", asked, shown)


def _fields(record: dict[str, Any], name: str) -> Fields:
    return {
        **record,
        "file": name,
        "text": record.get("text") or record["prompt"],
        "code": str(record["code"]).replace("\r\n", "\n"),
        "setup": [*record.get("test_imports", ()), *filter(None, [record.get("test_setup_code")])],
    }
