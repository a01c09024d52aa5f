"""ARC: grade-school science questions; the likeliest of the choices after the question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

SETS = {"Challenge": "arc-challenge", "Easy": "arc-easy"}


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    for word, task in SETS.items():
        if test := sources.find(f"ARC-{word}-Test.jsonl", required=False):
            yield task, _rows(sources, settings, test, word)


def _rows(sources: Sources, settings: RecipeSettings, test: str, word: str) -> Iterator[Row]:
    before = _examples(sources, settings, word)
    for record in sources.lines(test):
        choices = [choice["text"] for choice in record["question"]["choices"]]
        letter = "ABCDE"[_right(record)]
        row: Row = {
            "id": record["id"],
            "prompt": before + _question(record),
            "targets": [letter if letter not in choices else choices[_right(record)]],
            "metric": "choice_likelihood_per_character" if settings.variant == "likelihood" else "choice_likelihood",
            "extras": {"choices": choices},
            "metadata": {"source_sha256": sources.sha256(test)},
        }
        yield row


def _examples(sources: Sources, settings: RecipeSettings, word: str) -> str:
    shown = sources.examples(settings.shots, f"ARC-{word}-Train.jsonl")
    return "".join(f"{_question(each)} {each['question']['choices'][_right(each)]['text']}\n\n" for each in shown)


def _question(record: dict[str, Any]) -> str:
    return f"Question: {record['question']['stem']}\nAnswer:"


def _right(record: dict[str, Any]) -> int:
    """The place of the right choice; some questions have numbers for letters."""
    labels = [choice["label"] for choice in record["question"]["choices"]]
    return labels.index(record["answerKey"])


RECIPE = Recipe(
    name="arc",
    title="ARC",
    source="allenai/arc, ARC-V1-Feb2018: ARC-Challenge-Test.jsonl (1,172 questions), ARC-Easy-Test.jsonl (2,376)",
    licence="CC-BY-SA-4.0",
    reference="Clark et al. 2018, Think you have Solved Question Answering? Try ARC, the AI2 Reasoning Challenge",
    variants={
        "likelihood": "the choice that is likeliest per character after the question, as the field reports it",
        "raw-likelihood": "the choice with the highest log-likelihood",
    },
    default_shots=25,
    make=_make,
    sha256={"ARC-V1-Feb2018.zip": "6d2d5ab50b2ceec6ba5f79c921be77cf2de712ea25a2b3f4fff3acc101cecfa0"},
    downloads=(
        PublishedFile(
            "ARC-V1-Feb2018.zip",
            "https://ai2-public-datasets.s3.amazonaws.com/arc/ARC-V1-Feb2018.zip",
            680_841_265,
            members=("ARC-*-Test.jsonl", "ARC-*-Train.jsonl"),
        ),
    ),
    notes=(
        "the sha256 of the archive is known, those of its files are not: they need `assay recipe fetch`, or "
        "--accept-other-source",
        "the few-shot examples are the first ones of the training file, the same for every question",
    ),
)
