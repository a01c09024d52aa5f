"""NQ-open: questions people asked a search engine, with short answers, closed book."""

from __future__ import annotations

from collections.abc import Iterator

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("NQ-open.dev.jsonl", "NQ-open.efficientqa.dev.1.1.jsonl") or ""
    records = sources.lines(name)
    shown, remaining = records[: settings.shots], records[settings.shots :]
    before = "".join(f"Q: {_question(each['question'])}\nA: {each['answer'][0]}\n\n" for each in shown)
    for number, record in enumerate(remaining, start=len(shown)):
        yield {
            "id": f"nq-{number:04}",
            "prompt": f"{before}Q: {_question(record['question'])}\nA:",
            "targets": record["answer"],
            "metric": "squad_exact_match",
            "post_process": "extract_first_line",
            "extras": {"generation": {"stop": ["\nQ:"], "max_tokens": 256}},
            "metadata": {"source_sha256": sources.sha256(name)},
        }


def _question(text: str) -> str:
    return text if text.endswith("?") else f"{text}?"


RECIPE = Recipe(
    name="nq-open",
    title="NQ-open",
    source="google-research-datasets/natural-questions, nq_open/NQ-open.dev.jsonl (3,610 questions)",
    licence="Apache-2.0 (repository); text from Wikipedia, CC-BY-SA-3.0",
    reference="Lee et al. 2019; Kwiatkowski et al. 2019",
    variants={
        "few-shot": "Q and A:; the first line is compared after lowercasing and dropping articles and punctuation"
    },
    default_shots=5,
    make=one_task("nq-open", _rows),
    sha256={"NQ-open.dev.jsonl": "f15567f38099f3615f5b8a685c0aef449c11ad90d3da3735e8d1b98115b40616"},
    downloads=(
        PublishedFile(
            "NQ-open.dev.jsonl",
            "https://raw.githubusercontent.com/google-research-datasets/natural-questions/master/nq_open/NQ-open.dev.jsonl",
            391_316,
        ),
    ),
    notes=("the solved questions are the first of the same file, which are then not asked",),
)
