"""GPQA: graduate questions in biology, physics and chemistry that a search does not answer; four choices."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from assay.recipes.choices import lettered, shuffled
from assay.recipes.recipe import Recipe, RecipeSettings, Row, Sources

FORMAT = 'Format your response as follows: "The correct answer is (insert answer here)"'
SETS = ("diamond", "main", "extended")


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    for name in SETS:
        if file := sources.find(f"gpqa_{name}.csv", required=False):
            yield f"gpqa-{name}", _rows(sources, settings, file)


def _rows(sources: Sources, settings: RecipeSettings, file: str) -> Iterator[Row]:
    for number, record in enumerate(csv.DictReader(io.StringIO(sources.read(file).decode("utf-8")))):
        question = record["Question"].strip()
        wrong = [record[f"Incorrect Answer {place}"].strip() for place in (1, 2, 3)]
        choices, letter = shuffled(record["Correct Answer"].strip(), wrong, question)
        thinking = "Let's think step by step before we answer.\n" if settings.variant == "chain-of-thought" else ""
        yield {
            "id": record.get("Record ID") or f"gpqa-{number:03}",
            "prompt": f"What is the correct answer to this question: {question}\n\n"
            f"Choices:\n{lettered(choices, '({letter}) {choice}')}\n\n{thinking}{FORMAT}",
            "targets": [letter],
            "metric": "exact_match",
            "post_process": "extract_choice",
            "metadata": {
                "domain": record.get("High-level domain", ""),
                "subdomain": record.get("Subdomain", ""),
                "source_sha256": sources.sha256(file),
            },
        }


RECIPE = Recipe(
    name="gpqa",
    title="GPQA",
    source="idavidrein/gpqa, dataset.zip: gpqa_diamond.csv (198), gpqa_main.csv (448), gpqa_extended.csv (546)",
    licence="CC-BY-4.0; the authors ask that questions are not put on the open web as plain text",
    reference="Rein et al. 2023, GPQA: A Graduate-Level Google-Proof Q&A Benchmark",
    variants={
        "zero-shot": "the question, four choices, and the published form of the answer",
        "chain-of-thought": "the same, and a request to think step by step first",
    },
    default_shots=0,
    make=_make,
    sha256={},
    notes=(
        "no sha256 of the published files is known here: they need --accept-other-source",
        "the order of the choices is drawn from a hash of the question, and is not that of the paper's code",
        "task files hold the questions: keep them out of public repositories, as the authors ask",
    ),
    scales=False,
)
