"""IFEval: instructions that a program can check, such as `no commas` or `at least 300 words`."""

from __future__ import annotations

from collections.abc import Iterator

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("input_data.jsonl") or ""
    for record in sources.lines(name):
        pairs = zip(record["instruction_id_list"], record["kwargs"], strict=True)
        yield {
            "id": f"ifeval-{record['key']}",
            "prompt": record["prompt"],
            "targets": [],
            "metric": "instructions",
            "extras": {
                "instructions": [
                    {"id": kind, **{key: value for key, value in options.items() if value is not None}}
                    for kind, options in pairs
                ]
            },
            "metadata": {"source_sha256": sources.sha256(name)},
        }


RECIPE = Recipe(
    name="ifeval",
    title="IFEval",
    source="google-research/google-research, instruction_following_eval/data/input_data.jsonl (541 prompts)",
    licence="CC-BY-4.0 (data), Apache-2.0 (code)",
    reference="Zhou et al. 2023, Instruction-Following Evaluation for Large Language Models",
    variants={
        "chat": "the prompt alone; the score is the share of prompts whose instructions are all followed (strict)"
    },
    default_shots=0,
    make=one_task("ifeval", _rows),
    sha256={"input_data.jsonl": "67ffeee0fcb87c317c5b08a2de85557b4a7e96ada6178aa645b4954fe4b53d49"},
    downloads=(
        PublishedFile(
            "input_data.jsonl",
            "https://raw.githubusercontent.com/google-research/google-research/master/instruction_following_eval/data/input_data.jsonl",
            207_111,
        ),
    ),
    notes=(
        "the leaderboard also has prompt_loose, instruction_strict and instruction_loose",
        "languages are detected by script and common words, and sentences by punctuation, without another library: "
        "in these two, rare differences from the published checker are to be expected",
    ),
    scales=False,
)
