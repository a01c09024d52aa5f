"""HumanEval: complete a Python function; the published tests run in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources, one_task

INSTRUCTION = "Complete the following Python function. Answer with the whole function in one code block.\n\n"

CONTINUED = {"generation": {"stop": ["\nclass", "\ndef", "\n#", "\nprint"], "max_tokens": 1024}}
"""As published, without the fifth stop (`\\nif`): the largest server takes four, and the rest is cut off afterwards."""


def _rows(sources: Sources, settings: RecipeSettings) -> Iterator[Row]:
    name = sources.find("HumanEval.jsonl.gz", "HumanEval.jsonl") or ""
    for record in sources.lines(name):
        prompt = record["prompt"]
        yield {
            "id": record["task_id"],
            "prompt": prompt if settings.variant == "complete" else f"{INSTRUCTION}```python\n{prompt}```",
            "targets": [],
            "metric": "code_exec",
            "post_process": "extract_function_body" if settings.variant == "complete" else "extract_code_block",
            "extras": {
                # a body continues the prompt; a whole function after it takes the place of the bare signature
                "prelude": prompt,
                "tests": f"{record['test']}\ncheck({record['entry_point']})\n",
                "entry_point": record["entry_point"],
                "solution": record["canonical_solution"],
                "imports": "any",  # as published: the prompts mention no limit
                **(CONTINUED if settings.variant == "complete" else {}),
            },
            "metadata": {"source_sha256": sources.sha256(name)},
        }


RECIPE = Recipe(
    name="humaneval",
    title="HumanEval",
    source="openai/human-eval, data/HumanEval.jsonl.gz (164 problems)",
    licence="MIT",
    reference="Chen et al. 2021, Evaluating Large Language Models Trained on Code",
    variants={
        "complete": "the prompt as published, for models that continue a text; the body up to the next thing at the "
        "margin must pass every test",
        "chat": "an instruction around the prompt, for chat models; code is taken from the first code block",
    },
    default_shots=0,
    make=one_task("humaneval", _rows),
    sha256={"HumanEval.jsonl.gz": "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"},
    downloads=(
        PublishedFile(
            "HumanEval.jsonl.gz",
            "https://raw.githubusercontent.com/openai/human-eval/master/data/HumanEval.jsonl.gz",
            44_877,
        ),
    ),
    notes=(
        "pass@k: run with --repeat N and a temperature; the leaderboard then holds the unbiased estimate",
        "a program that hangs is a failed test of that program, not a failure of the run",
    ),
    scales=False,
)
