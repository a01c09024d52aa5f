"""The records of TruthfulQA's multiple choice, and the preset that stands before each question."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    for kind in ("mc1", "mc2"):
        yield TaskRecords(f"truthfulqa-{kind}", _fields(sources, settings, kind))


def _fields(sources: Sources, settings: RecipeSettings, kind: str) -> Iterator[Fields]:
    name = sources.find("mc_task.json") or ""
    primer = _primer(sources, settings)
    for number, record in enumerate(sources.records(name)):
        # some questions of 2025 have an empty answer, which has no likelihood
        choices = {choice: label for choice, label in record[f"{kind}_targets"].items() if choice.strip()}
        yield {
            "file": name,
            "number": number,
            "primer": primer,
            "question": record["question"],
            "true_answers": _true(choices, kind),
            "choices": list(choices),
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
