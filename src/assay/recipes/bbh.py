"""The records of BIG-Bench Hard, and the published exemplars that stand before each question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.core.errors import UsageError
from assay.recipes.recipe import RecipeSettings
from assay.recipes.rows import Fields, TaskRecords
from assay.recipes.sources import Sources


class Exemplars(NamedTuple):
    """The text before each question, and the index of the first example that is used as a question."""

    text: str
    published: bool
    first_question: int = 0


def records(sources: Sources, settings: RecipeSettings) -> Iterator[TaskRecords]:
    names = sources.names("*.json")
    # the repository also holds the answers of other models; the folder `bbh` takes precedence
    for name in [name for name in names if Path(name).parent.name == "bbh"] or names:
        task = Path(name).stem
        yield TaskRecords(f"bbh-{task.replace('_', '-')}", _fields(sources, settings, name, task))


def _fields(sources: Sources, settings: RecipeSettings, name: str, task: str) -> Iterator[Fields]:
    examples = json.loads(sources.read(name))["examples"]
    exemplars = _exemplars(sources, settings, task, examples)
    for number, example in enumerate(examples[exemplars.first_question :], start=exemplars.first_question):
        yield {**example, "file": name, "number": number, "task": task, "exemplars": exemplars}


def _exemplars(sources: Sources, settings: RecipeSettings, stem: str, examples: list[dict[str, str]]) -> Exemplars:
    """The published ones if their file is present, else the first questions of the task, which are then left out."""
    file = sources.find(f"cot-prompts/{stem}.txt", required=False)
    if file is not None:
        description, worked = parse_exemplars(sources.read(file).decode("utf-8"), file)
        shown = [f"Q: {question}\nA: {_worked(settings, answer)}" for question, answer in worked[: settings.shots]]
        return Exemplars("\n\n".join(filter(None, [description, *shown])) + "\n\n", published=True)
    sources.remark(
        "no cot-prompts/ next to bbh/: the first questions of each task replace the published few-shot examples, "
        "without reasoning, and are not part of the task"
    )
    shown = [
        f"Q: {example['input']}\nA: {_stated(settings, example['target'])}\n\n"
        for example in examples[: settings.shots]
    ]
    return Exemplars("".join(shown), published=False, first_question=len(shown))


def parse_exemplars(text: str, name: str = "the file") -> tuple[str, list[tuple[str, str]]]:
    """The description of the task, and each exemplar's question and worked answer.

    The file is a warning to crawlers, a line of dashes, the description, and then `Q:` and `A:` in turn, each `Q:` at
    the beginning of a line.
    """
    body = re.split(r"(?m)^-{3,}[ \t]*$", text, maxsplit=1)[-1]
    description, *blocks = re.split(r"(?m)^Q:[ \t]*", body)
    exemplars = [tuple(part.strip() for part in re.split(r"(?m)^A:[ \t]*", block, maxsplit=1)) for block in blocks]
    if not exemplars or any(len(exemplar) != 2 for exemplar in exemplars):
        raise UsageError(f"{name}: not in the form of the published exemplars (a description, then `Q:` and `A:`)")
    return description.strip(), [(exemplar[0], exemplar[1]) for exemplar in exemplars]


def _worked(settings: RecipeSettings, answer: str) -> str:
    """The published reasoning, or only its final answer."""
    if settings.variant == "cot":
        return answer
    return answer.rpartition("the answer is ")[2].removesuffix(".")


def _stated(settings: RecipeSettings, target: str) -> str:
    return f"So the answer is {target}." if settings.variant == "cot" else target
