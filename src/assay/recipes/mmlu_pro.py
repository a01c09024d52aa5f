"""MMLU-Pro: up to ten choices, answered step by step after five few-shot examples; one task per category."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.recipes.choices import lettered
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

FORMS = ("jsonl", "json", "parquet")
STEPS = "Let's think step by step."


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    test = _find(sources, "test")
    records = sources.records(test)
    for category in sorted({record["category"] for record in records}):
        name = category.replace(" ", "-")
        yield f"mmlu-pro-{name}", _rows(sources, settings, category, [r for r in records if r["category"] == category])


def _rows(sources: Sources, settings: RecipeSettings, category: str, records: list[dict[str, Any]]) -> Iterator[Row]:
    test = _find(sources, "test")
    before = (
        f"The following are multiple choice questions (with answers) about {category}. Think step by step and then "
        'finish your answer with "the answer is (X)" where X is the correct letter choice.\n\n'
    )
    if settings.shots:
        shown = [each for each in sources.records(_find(sources, "validation")) if each["category"] == category]
        worked = [(each, str(each["cot_content"]).removeprefix("A: ")) for each in shown[: settings.shots]]
        before += "".join(f"{_question(each)} {reasoning}\n\n" for each, reasoning in worked)
    for record in records:
        yield {
            "id": f"mmlu-pro-{record['question_id']}",
            "prompt": f"{before}{_question(record)} {STEPS}",
            "targets": [record["answer"]],
            "metric": "exact_match",
            "post_process": "extract_choice_of_ten",
            "extras": {"generation": {"stop": ["Question:"], "max_tokens": 2048}},
            "metadata": {"category": category, "src": record.get("src", ""), "source_sha256": sources.sha256(test)},
        }


def _find(sources: Sources, split: str) -> str:
    names = [f"{split}.{form}" for form in FORMS] + [f"{split}-00000-of-00001.parquet"]
    return sources.find(*names) or ""


def _question(record: dict[str, Any]) -> str:
    options = [option for option in record["options"] if option != "N/A"]
    return f"Question:\n{record['question']}\nOptions:\n{lettered(options)}\nAnswer:"


RECIPE = Recipe(
    name="mmlu-pro",
    title="MMLU-Pro",
    source="TIGER-Lab/MMLU-Pro, test and validation splits (12,032 questions in 14 categories)",
    licence="MIT",
    reference="Wang et al. 2024, MMLU-Pro: A More Robust and Challenging Multi-Task Language Understanding Benchmark",
    variants={
        "chain-of-thought": "few-shot examples of the same category, then step by step; the announced letter counts"
    },
    default_shots=5,
    make=_make,
    sha256={
        "test-00000-of-00001.parquet": "0e24a191921c2f453518a537a8b2117bd137e7714d4ef1565e9ba06c1ecb9ad8",
        "validation-00000-of-00001.parquet": "139423c23722e480c807ac4a191409a710cfce4eba744c1d641cf88e730e2078",
    },
    downloads=(
        PublishedFile(
            "test-00000-of-00001.parquet",
            "https://huggingface.co/datasets/TIGER-Lab/MMLU-Pro/resolve/b189ec765aa7ed75c8acfea42df31fdae71f97be/data/test-00000-of-00001.parquet",
            4_144_185,
        ),
        PublishedFile(
            "validation-00000-of-00001.parquet",
            "https://huggingface.co/datasets/TIGER-Lab/MMLU-Pro/resolve/b189ec765aa7ed75c8acfea42df31fdae71f97be/data/validation-00000-of-00001.parquet",
            42_857,
        ),
    ),
    notes=(
        "the sha256 are those of the Parquet files, as others have recorded them; other forms need "
        "--accept-other-source",
        "an answer in which no letter is found is wrong; the published script guesses at random",
        "parquet files need the extra `parquet`",
    ),
)
