"""SVAMP: one-step sums whose wording was varied to catch shortcuts; the final number counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from assay.metrics.extraction import plain_number
from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("SVAMP.json") or ""
    for record in json.loads(sources.read(name)):
        body = record["Body"].rstrip()
        joined = body if body.endswith((".", "?", "!")) else f"{body}."
        yield {
            "id": str(record["ID"]),
            "prompt": f"Q: {joined} {record['Question'].strip()}\nA:",
            "targets": [plain_number(str(record["Answer"]))],
            "metric": "exact_match",
            "post_process": "extract_final_number",
            "extras": {"generation": {"stop": ["\nQ:"], "max_tokens": 1024}},
            "metadata": {"type": record["Type"], "source_sha256": sources.sha256(name)},
        }


RECIPE = Recipe(
    name="svamp",
    title="SVAMP",
    source="arkilpatel/SVAMP, SVAMP.json (1,000 problems)",
    licence="MIT",
    reference="Patel et al. 2021, Are NLP Models really able to Solve Simple Math Word Problems?",
    variants={"zero-shot": "Q: body and question, A:; the final number of the answer is compared"},
    default_shots=0,
    make=one_task("svamp", _rows),
    sha256={"SVAMP.json": "5be77703a6d891ae476d7c082787ad361392aa02453b132516cdd5f4e7934e3e"},
    downloads=(
        PublishedFile("SVAMP.json", "https://raw.githubusercontent.com/arkilpatel/SVAMP/main/SVAMP.json", 339_970),
    ),
    notes=("published for fine-tuned models; the zero-shot prompt is the one usual for language models",),
    scales=False,
)
