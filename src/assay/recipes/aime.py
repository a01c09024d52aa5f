"""AIME: competition problems whose answer is a whole number from 0 to 999."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from assay.metrics.extraction import plain_number
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

INSTRUCTION = "Please reason step by step, and put your final answer within \\boxed{}."


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    names = [name for form in ("jsonl", "json", "parquet") for name in sources.names(f"*.{form}")]
    yield "aime", (row for name in names for row in _rows(sources, name, several=len(names) > 1))


def _rows(sources: Sources, name: str, *, several: bool) -> Iterator[Row]:
    """Files of several exams may use the same numbers: ids then begin with the name of the exam."""
    exam = Path(name).stem
    for number, given in enumerate(sources.records(name)):
        record = {key.lower(): value for key, value in given.items()}
        problem = record["problem"] if "problem" in record else record["question"]
        yield {
            "id": str(record["id"]) if "id" in record and not several else f"{exam}-{record.get('id', number)}",
            "prompt": f"{problem}\n\n{INSTRUCTION}",
            "targets": [_whole_number(record["answer"])],
            "metric": "exact_match",
            "post_process": "extract_final_number",
            "metadata": {"year": str(record.get("year", "")), "source_sha256": sources.sha256(name)},
        }


def _whole_number(answer: object) -> str:
    number = plain_number(str(answer))
    if not number.isdecimal():
        raise ValueError(f"the answer {answer!r} is not a whole number")
    return number


RECIPE = Recipe(
    name="aime",
    title="AIME",
    source="problems and answers of the AIME, as published on the hub (HuggingFaceH4/aime_2024, math-ai/aime25, …)",
    licence="the problems are the Mathematical Association of America's; see the source of your file",
    reference="American Invitational Mathematics Examination",
    variants={"zero-shot": "the problem and a request to reason and to put the answer into a box; the number counts"},
    default_shots=0,
    make=_make,
    sha256={"aime25.jsonl": "b4e273c02d3e7fe1b74b59eae768fc8230bfb0f79539890cb56f4361caac0331"},
    downloads=(
        PublishedFile(
            "aime25.jsonl",
            "https://huggingface.co/datasets/math-ai/aime25/resolve/563bb8404243c5f09de6ec262f2db674fe5bce9b/test.jsonl",
            20_000,
        ),
    ),
    notes=(
        "`fetch` downloads the exams of 2025, checked by the sha256 that others have recorded; other files need "
        "--accept-other-source",
        "fifteen problems an exam: use --repeat, and read the interval",
        "parquet files need the extra `parquet`",
    ),
    scales=False,
)
