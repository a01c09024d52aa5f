"""MBPP: short Python functions from a sentence and their tests; the tests run in the sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from assay.recipes.recipe import PublishedFile, Recipe, RecipeSettings, Row, Sources

TEST_TASKS = range(11, 511)
EXAMPLE_TASKS = (2, 3, 4)
"""As in the publication: tasks 2 to 4 are few-shot examples, 11 to 510 the test."""


def _make(sources: Sources, settings: RecipeSettings) -> Iterator[tuple[str, Iterator[Row]]]:
    if settings.variant == "sanitized":
        yield "mbpp-sanitized", _rows(sources, settings, "sanitized-mbpp.json")
    else:
        yield "mbpp", _rows(sources, settings, "mbpp.jsonl")


def _rows(sources: Sources, settings: RecipeSettings, wanted: str) -> Iterator[Row]:
    name = sources.find(wanted) or ""
    records = sources.lines(name) if name.endswith(".jsonl") else json.loads(sources.read(name))
    by_id = {record["task_id"]: record for record in records}
    shown = [by_id[task] for task in EXAMPLE_TASKS if task in by_id][: settings.shots]
    before = "".join(f"{_question(record)}{_code(record)}\n[DONE]\n\n" for record in shown)
    for record in records:
        if record["task_id"] not in TEST_TASKS:
            continue
        yield {
            "id": f"mbpp-{record['task_id']:03}",
            "prompt": before + _question(record).rstrip("\n"),
            "targets": [],
            "metric": "code_exec",
            "post_process": "extract_program",
            "extras": {
                # the setup of the tests may use names of the solution, so it comes after it
                "tests": [*_setup(record), *record["test_list"]],
                "solution": _code(record),
                "imports": "any",  # as published: the prompts mention no limit
                "cpu_seconds": 10,  # the published solution of task 123 needs five
                "generation": {"stop": ["[DONE]"], "max_tokens": 1024},
            },
            "metadata": {"source_sha256": sources.sha256(name)},
        }


def _question(record: dict[str, Any]) -> str:
    text = record.get("text") or record["prompt"]
    tests = "\n".join(record["test_list"])
    opening = "You are an expert Python programmer, and here is your task:"
    return f"{opening} {text} Your code should pass these tests:\n\n{tests}\n[BEGIN]\n"


def _code(record: dict[str, Any]) -> str:
    return str(record["code"]).replace("\r\n", "\n")


def _setup(record: dict[str, Any]) -> list[str]:
    return [*record.get("test_imports", ()), *filter(None, [record.get("test_setup_code")])]


RECIPE = Recipe(
    name="mbpp",
    title="MBPP",
    source="google-research/google-research, mbpp/mbpp.jsonl (974) and mbpp/sanitized-mbpp.json (427)",
    licence="CC-BY-4.0",
    reference="Austin et al. 2021, Program Synthesis with Large Language Models",
    variants={
        "full": "tasks 11 to 510 after three solved ones, as published; every test must pass",
        "sanitized": "the hand-checked subset of the same tasks",
    },
    default_shots=3,
    make=_make,
    sha256={
        "mbpp.jsonl": "ccf64ceae9c5403bf50a044cb6d505bfd2a2963ee58338ba268fd65beab92a9f",
        "sanitized-mbpp.json": "ca95deaa9a01ef0a6f439f88bcf0dd3db3563d22f22aad6cae04ebb9a8d8c8e9",
    },
    downloads=(
        PublishedFile(
            "mbpp.jsonl",
            "https://raw.githubusercontent.com/google-research/google-research/master/mbpp/mbpp.jsonl",
            563_743,
        ),
        PublishedFile(
            "sanitized-mbpp.json",
            "https://raw.githubusercontent.com/google-research/google-research/master/mbpp/sanitized-mbpp.json",
            255_053,
        ),
    ),
    notes=("an answer ends at [DONE], and after 1,024 tokens",),
)
