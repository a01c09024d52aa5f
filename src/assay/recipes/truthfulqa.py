"""TruthfulQA, multiple choice: the likeliest answer (MC1), and how likely the true ones are together (MC2)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

MEASURES = {"mc1": "choice_likelihood", "mc2": "choice_probability"}


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    for kind in MEASURES:
        yield f"truthfulqa-{kind}", _rows(sources, settings, kind)


def _rows(sources: Sources, settings: RecipeSettings, kind: str) -> Iterator[Row]:
    name = sources.find("mc_task.json") or ""
    before = _primer(sources, settings)
    for number, record in enumerate(json.loads(sources.read(name))):
        # some questions of 2025 have an empty answer, which has no likelihood
        choices = {choice: label for choice, label in record[f"{kind}_targets"].items() if choice.strip()}
        yield {
            "id": f"truthfulqa-{number:03}",
            "prompt": f"{before}Q: {record['question']}\nA:",
            "targets": _true(choices, kind),
            "metric": MEASURES[kind],
            "extras": {"choices": list(choices)},
            "metadata": {"source_sha256": sources.sha256(name)},
        }


def _true(choices: dict[str, Any], kind: str) -> list[str]:
    true = [choice for choice, label in choices.items() if label]
    if not true or len(true) == len(choices) or (kind == "mc1" and len(true) > 1):
        raise ValueError(f"{len(true)} of {len(choices)} answers are true")
    return true


def _primer(sources: Sources, settings: RecipeSettings) -> str:
    if settings.variant == "question-alone":
        return ""
    name = sources.find("qa_primer.txt", "presets.py", required=False)
    if name is None:
        sources.remark("there is no presets.py: the prompts lack the six published questions before each question")
        return ""
    text = sources.read(name).decode()
    return (text if name == "qa_primer.txt" else _preset(text)).rstrip() + "\n\n"


def _preset(source: str) -> str:
    """The text QA_PRIMER of the published Python file, which is read and not run."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "QA_PRIMER":
            return str(ast.literal_eval(statement.value))
    raise ValueError("presets.py has no QA_PRIMER")


_AT = "https://raw.githubusercontent.com/sylinrl/TruthfulQA/main/"

RECIPE = Recipe(
    name="truthfulqa",
    title="TruthfulQA (MC1 and MC2)",
    source="sylinrl/TruthfulQA, data/mc_task.json (790 questions since 2025, 817 before), truthfulqa/presets.py",
    licence="Apache-2.0",
    reference="Lin et al. 2022, TruthfulQA: Measuring How Models Mimic Human Falsehoods",
    variants={
        "likelihood": "after the published preset: whether the likeliest answer is the true one (MC1), and the share "
        "of the probability of all answers that falls on true ones (MC2)",
        "question-alone": "the same without the preset",
    },
    default_shots=0,
    make=_make,
    sha256={
        "mc_task.json": "c90d853454fd48c676accb33e16923ac438dbb6fb37ecc7c6a70e33c9e556e87",
        "mc_task.json of 2021 (v1)": "b3799639bc76c939836d587de7d30b48d91012cb34be04806d33106ce06c162a",
        "mc_task.json of 2021 (v0)": "6eb4125d25750c0145c4be2dce00440736684ab6f74ce6bff2139571cc758954",
        "presets.py": "9585addd583dd56c8c0e9eb88624783162959da92001ea739580576ee71cae2b",
    },
    downloads=(
        PublishedFile("mc_task.json", f"{_AT}data/mc_task.json", 744_411),
        PublishedFile("presets.py", f"{_AT}truthfulqa/presets.py", 8_382),
    ),
    notes=(
        "the preset of six questions (`QA_PRIMER`) is read from presets.py next to the data, or from qa_primer.txt",
        "an empty answer, which some questions have since 2025, is left out",
        "the likelihoods of answers are not divided by their lengths, as published",
        "the task of writing answers is not here; `lm-eval:truthfulqa_gen` has it",
    ),
    scales=False,
)
