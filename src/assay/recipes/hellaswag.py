"""HellaSwag: which of four endings continues a scene; the likeliest per character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assay.recipes.choices import letter_at
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task

_BRACKETED = re.compile(r"\[[^\]\n]{0,100}\]")


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("hellaswag_val.jsonl") or ""
    before = _examples(sources, settings)
    for record in sources.lines(name):
        endings = [_clean(ending) for ending in record["endings"]]
        yield {
            "id": f"hellaswag-{record['ind']}",
            "prompt": before + _context(record),
            "targets": [letter_at(record["label"], endings)],
            "metric": "choice_likelihood_per_character",
            "extras": {"choices": endings},
            "metadata": {"activity": record["activity_label"], "source_sha256": sources.sha256(name)},
        }


def _examples(sources: Sources, settings: RecipeSettings) -> str:
    shown = sources.examples(settings.shots, "hellaswag_train.jsonl")
    return "".join(f"{_context(each)} {_clean(each['endings'][each['label']])}\n\n" for each in shown)


def _context(record: dict[str, Any]) -> str:
    second = record["ctx_b"]
    return _clean(f"{record['activity_label']}: {record['ctx_a']} {second[:1].upper()}{second[1:]}")


def _clean(text: str) -> str:
    """The text without the markup left in the WikiHow half of the data."""
    return _BRACKETED.sub("", text.strip().replace(" [title]", ". ")).replace("  ", " ")


RECIPE = Recipe(
    name="hellaswag",
    title="HellaSwag",
    source="rowanz/hellaswag, data/hellaswag_val.jsonl (10,042 scenes; the test labels are not public)",
    licence="MIT",
    reference="Zellers et al. 2019, HellaSwag: Can a Machine Really Finish Your Sentence?",
    variants={"likelihood": "the ending with the highest log-likelihood per character, as the field reports it"},
    default_shots=10,
    make=one_task("hellaswag", _rows),
    sha256={
        "hellaswag_val.jsonl": "0aa3b88843990f3f10a97b9575c94d7b71fb2205240ba04ae4884d9e9c992588",
        "hellaswag_train.jsonl": "dae5e69249868cb9fe4e23ff925c60b66169564cfb7072d793cd7356a2b69f8d",
    },
    downloads=(
        PublishedFile(
            "hellaswag_val.jsonl",
            "https://raw.githubusercontent.com/rowanz/hellaswag/master/data/hellaswag_val.jsonl",
            12_246_618,
        ),
        PublishedFile(
            "hellaswag_train.jsonl",
            "https://raw.githubusercontent.com/rowanz/hellaswag/master/data/hellaswag_train.jsonl",
            47_496_131,
        ),
    ),
    notes=(
        "the sha256 are those that others have recorded; the files were not available here, and the recipe was tested "
        "on records made in their format",
        "the activity stands before the context, and marks in brackets are taken out, as lm-evaluation-harness does",
    ),
)
