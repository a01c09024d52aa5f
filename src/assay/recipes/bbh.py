"""BIG-Bench Hard: tasks that language models found hard; one task per file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from assay.recipes.recipe import Recipe, Row, Settings, Sources


def _make(sources: Sources, settings: Settings) -> Iterator[tuple[str, Iterator[Row]]]:
    for name in sources.names("*.json"):
        stem = Path(name).stem
        yield f"bbh-{stem.replace('_', '-')}", _rows(sources, settings, name, stem)


def _rows(sources: Sources, settings: Settings, name: str, stem: str) -> Iterator[Row]:
    examples = json.loads(sources.read(name))["examples"]
    shown, asked = examples[: settings.shots], examples[settings.shots :]
    before = "".join(f"Q: {each['input']}\nA: {_answer(settings, each['target'])}\n\n" for each in shown)
    for number, each in enumerate(asked, start=len(shown)):
        yield {
            "id": f"{stem}-{number:03}",
            "prompt": f"{before}Q: {each['input']}\nA:",
            "targets": [each["target"]],
            "metric": "exact_match",
            "post_process": "extract_stated_answer",
            "metadata": {"task": stem, "source_sha256": sources.sha256(name)},
        }


def _answer(settings: Settings, target: str) -> str:
    return f"So the answer is {target}." if settings.variant == "stated" else target


RECIPE = Recipe(
    name="bbh",
    title="BIG-Bench Hard",
    source="suzgunmirac/BIG-Bench-Hard, bbh/*.json (23 tasks)",
    licence="MIT",
    reference="Suzgun et al. 2022, Challenging BIG-Bench Tasks and Whether Chain-of-Thought Can Solve Them",
    variants={
        "direct": "three solved questions, then Q and A:; the answer alone is compared, whatever the case",
        "stated": "the solved questions say `So the answer is X.`, and so may the model after thinking",
    },
    default_shots=3,
    make=_make,
    sha256={
        "boolean_expressions.json": "ea6c754ec005e2d3f2d085d349a740f593b5764f32ea4638ffed4cfc0061b12a",
        "date_understanding.json": "0148d4ac5fca05b2f82373e5fef7208e15363b9c6079493034d77b3dab496bf5",
        "navigate.json": "b7944dfd3c81da5c4815bd75b00d6fa3c64140823498e78ed496f4c3d36f7f0d",
        "object_counting.json": "8acef14dbbdd40d2326ef7755750b6b5fe919fef06276af1bab3f1c297f022ff",
        "snarks.json": "54a0661fe2de06167645a4965e6bcf963c4ba307e76262a7c750998b0e3d0d0e",
        "word_sorting.json": "2a6132d2c99f00d0d2eb1113ac6b4a918bd969d863c48749210d969713db8d43",
    },
    notes=(
        "the published exemplars are files of their own; here the first questions of a task are shown and not asked",
        "the sha256 of six tasks is known; the others need --accept-other-source",
    ),
)
