"""TruthfulQA, multiple choice with one true answer (MC1): the likeliest answer after the question."""

from __future__ import annotations

import json
from collections.abc import Iterator

from assay.recipes.recipe import Recipe, RecipeSettings, Row, Sources


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    yield "truthfulqa-mc1", _rows(sources, settings)


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("mc_task.json") or ""
    before = _primer(sources, settings)
    for number, record in enumerate(json.loads(sources.read(name))):
        choices = list(record["mc1_targets"])
        [right] = [choice for choice, label in record["mc1_targets"].items() if label]
        yield {
            "id": f"truthfulqa-{number:03}",
            "prompt": f"{before}Q: {record['question']}\nA:",
            "targets": [right],
            "metric": "choice_likelihood",
            "extras": {"choices": choices},
            "metadata": {"source_sha256": sources.sha256(name)},
        }


def _primer(sources: Sources, settings: RecipeSettings) -> str:
    if settings.variant == "question-alone":
        return ""
    name = sources.find("qa_primer.txt", required=False)
    if name is None:
        sources.remark("qa_primer.txt is not here: each question is asked without the six published ones before it")
        return ""
    return sources.read(name).decode().rstrip() + "\n\n"


RECIPE = Recipe(
    name="truthfulqa",
    title="TruthfulQA (MC1)",
    source="sylinrl/TruthfulQA, data/mc_task.json (817 questions)",
    licence="Apache-2.0",
    reference="Lin et al. 2022, TruthfulQA: Measuring How Models Mimic Human Falsehoods",
    variants={
        "likelihood": "the answer with the highest log-likelihood after the published preset and the question",
        "question-alone": "the same without the preset",
    },
    default_shots=0,
    make=_make,
    sha256={},
    notes=(
        "no sha256 of the published files is known here: they need --accept-other-source",
        "the preset of six questions (`qa` in the publication's presets.py) is read from qa_primer.txt beside the data",
        "MC2 and the generation task are not here; `lm-eval:truthfulqa` has them",
    ),
    scales=False,
)
