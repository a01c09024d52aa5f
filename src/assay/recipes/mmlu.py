"""The records of MMLU's files: tables without a header, one for each subject."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from assay.recipes.choices import lettered
from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    for test in sources.names("*_test.csv"):
        subject = Path(test).name.removesuffix("_test.csv")
        dev = sources.find(f"dev/{subject}_dev.csv") if settings.shots else None
        shown = _fields(sources, dev, subject)[: settings.shots] if dev else []
        yield TaskRecords(f"mmlu-{subject.replace('_', '-')}", _fields(sources, test, subject), shown)


def _fields(sources: Sources, name: str, subject: str) -> list[Fields]:
    rows = csv.reader(io.StringIO(sources.read(name).decode("utf-8")))
    return [
        {
            "file": name,
            "subject": subject,
            "number": number,
            "question": row[0],
            "choices": lettered(row[1:5]),
            "answer": row[5],
        }
        for number, row in enumerate(row for row in rows if len(row) == 6)
    ]
