"""MATH-500: competition mathematics whose answers are expressions, compared however they are typeset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.metrics.mathematics import extract_math_answer
from assay.recipes.aime import INSTRUCTION
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("test.jsonl", "math500.jsonl", "test.parquet") or ""
    for number, record in enumerate(sources.records(name)):
        yield {
            "id": str(record.get("unique_id") or f"math-500-{number:03}"),
            "targets": [_answer(record)],
            "metric": "math_equivalent",
            "post_process": "extract_math_answer",
            "metadata": {
                "subject": str(record.get("subject", "")),
                "level": str(record.get("level", "")),
                "source_sha256": sources.sha256(name),
            },
            **_question(str(record["problem"]), settings.variant),
        }


def _question(problem: str, variant: str) -> dict[str, Any]:
    if variant == "zero-shot":
        return {"prompt": f"{problem}\n{INSTRUCTION}"}
    generation = {"stop": ["Problem:"], "max_tokens": 1024}
    return {"prompt": f"Problem: {problem}\nAnswer:", "extras": {"generation": generation}}


def _answer(record: dict[str, Any]) -> str:
    answer = str(record["answer"]) if "answer" in record else extract_math_answer(str(record["solution"]))
    if not answer.strip():
        raise ValueError(f"the problem {record['problem'][:60]!r} has no answer")
    return answer


RECIPE = Recipe(
    name="math-500",
    title="MATH-500",
    source="openai/prm800k, prm800k/math_splits/test.jsonl (500 problems); the same file as HuggingFaceH4/MATH-500's",
    licence="MIT",
    reference="Hendrycks et al. 2021, Measuring Mathematical Problem Solving; Lightman et al. 2023, Let's Verify",
    variants={
        "zero-shot": "the problem and a request to reason and to put the answer into a box, for chat models",
        "complete": "`Problem: …` and `Answer:`, for models that continue a text; ends at the next `Problem:`",
    },
    default_shots=0,
    make=one_task("math-500", _rows),
    sha256={"test.jsonl": "35dc41080a3680858b27fa7e0533d2d547825316fc5dafe5d316f4ccc5a06132"},
    downloads=(
        PublishedFile(
            "test.jsonl",
            "https://huggingface.co/datasets/HuggingFaceH4/MATH-500/resolve/6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be/test.jsonl",
            446_564,
        ),
    ),
    notes=(
        "the sha256 is the one that the repository records for the file; the file itself was not available here, and "
        "the recipe was tested on records made in its format",
        "answers are compared by MATH's own normalisation, then by value, item by item: numbers, and expressions at a "
        "few points, where PRM800K's grader asks sympy to simplify their difference",
        "`lm-eval:minerva_math500` asks after four worked solutions",
    ),
    scales=False,
)
