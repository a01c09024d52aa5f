"""The records of MMLU-Pro, one task for each category."""

from __future__ import annotations

from collections.abc import Iterator

from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import TaskRecords
from assay.recipes.sources import Sources

FORMS = ("jsonl", "json", "parquet")


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    test = _find(sources, "test")
    asked = sources.records(test)
    for category in sorted({record["category"] for record in asked}):
        of_category = [{**record, "file": test} for record in asked if record["category"] == category]
        sources.read(test)  # so that every task, not only the first, names the file it is made of
        shown = sources.records(_find(sources, "validation")) if settings.shots else []
        examples = [record for record in shown if record["category"] == category][: settings.shots]
        yield TaskRecords(f"mmlu-pro-{category.replace(' ', '-')}", of_category, examples)


def _find(sources: Sources, split: str) -> str:
    names = [f"{split}.{form}" for form in FORMS] + [f"{split}-00000-of-00001.parquet"]
    return sources.find(*names) or ""
