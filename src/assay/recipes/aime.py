"""The records of AIME's files, whose fields and numbers differ from exam to exam."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.metrics.extraction import plain_number
from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    names = [name for form in ("jsonl", "json", "parquet") for name in sources.names(f"*.{form}")]
    rows = (fields for name in names for fields in _fields(sources, name, several=len(names) > 1))
    yield TaskRecords("aime", rows)


def _fields(sources: Sources, name: str, *, several: bool) -> Iterator[Fields]:
    """Files of several exams may use the same numbers: ids then begin with the name of the exam."""
    exam = Path(name).stem
    for number, given in enumerate(sources.records(name)):
        record = {key.lower(): value for key, value in given.items()}
        yield {
            "file": name,
            "id": str(record["id"]) if "id" in record and not several else f"{exam}-{record.get('id', number)}",
            "problem": record["problem"] if "problem" in record else record["question"],
            "answer": _whole_number(record["answer"]),
            "year": str(record.get("year", "")),
        }


def _whole_number(answer: object) -> str:
    number = plain_number(str(answer))
    if not number.isdecimal():
        raise ValueError(f"the answer {answer!r} is not a whole number")
    return number
