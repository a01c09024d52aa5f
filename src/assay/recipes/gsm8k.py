"""GSM8K: grade-school sums in words, answered step by step; the final number counts."""

from __future__ import annotations

from collections.abc import Iterator

from assay.metrics.extraction import plain_number
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task

INSTRUCTION = "Solve the problem step by step. End with a line that holds `#### ` and the final number alone."

CONTINUED = {"generation": {"stop": ["\nQuestion:"], "max_tokens": 1024}}
"""Without these a base model would continue to the end of its context."""


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    test = sources.find("test.jsonl") or ""
    before = _examples(sources, settings)
    for number, record in enumerate(sources.lines(test)):
        question = f"Question: {record['question']}\nAnswer:"
        zero = f"{INSTRUCTION}\n\n{record['question']}"
        yield {
            "id": f"gsm8k-{number:04}",
            "prompt": zero if settings.variant == "zero-shot" else before + question,
            "targets": [plain_number(record["answer"].rpartition("####")[2].strip())],
            "metric": "exact_match",
            "post_process": "extract_final_number",
            "extras": {"solution": record["answer"], **({} if settings.variant == "zero-shot" else CONTINUED)},
            "metadata": {"source_sha256": sources.sha256(test)},
        }


def _examples(sources: Sources, settings: RecipeSettings) -> str:
    shots = 0 if settings.variant == "zero-shot" else settings.shots
    shown = sources.examples(shots, "train.jsonl", "train-first-200.jsonl")
    return "".join(f"Question: {each['question']}\nAnswer: {each['answer']}\n\n" for each in shown)


RECIPE = Recipe(
    name="gsm8k",
    title="GSM8K",
    source="openai/grade-school-math, test.jsonl (1,319 problems)",
    licence="MIT",
    reference="Cobbe et al. 2021, Training Verifiers to Solve Math Word Problems",
    variants={
        "few-shot": "worked solutions of the training file first; the number after #### (or the final one) is compared",
        "zero-shot": "an instruction to work step by step and end with ####",
    },
    default_shots=8,
    make=one_task("gsm8k", _rows),
    sha256={
        "test.jsonl": "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14",
        "train-first-200.jsonl": "03a8e89683ff5335dd79e1d8468ede692f263b4de113e59025833eeadc0f05a9",
        "train.jsonl": "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465",
    },
    downloads=(
        PublishedFile(
            "test.jsonl",
            "https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data/test.jsonl",
            749_738,
        ),
        PublishedFile(
            "train.jsonl",
            "https://raw.githubusercontent.com/openai/grade-school-math/master/grade_school_math/data/train.jsonl",
            4_166_206,
        ),
    ),
    notes=("the few-shot examples are the first ones of the training file, the same for every question",),
)
