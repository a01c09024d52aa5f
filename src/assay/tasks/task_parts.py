"""What the numbers of a task depend on, part by part: what a change of each one makes necessary.

Other rows or another prompt need new answers, another judge or what it is sent needs new verdicts, and everything else
needs only new scores of the answers that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from assay.catalog import OTHER_MODELS, SAID_BY_TASKS
from assay.core.fingerprint import fingerprint, short_fingerprint
from assay.core.types import PartSpec, TaskDefinition
from assay.snippets.imported_modules import modules_of


class TaskParts(NamedTuple):
    """A fingerprint of each part of a task; two tasks with the same ones give the same numbers."""

    content: str
    """The rows."""
    asking: str
    """How the questions are put to the model: solver and templates."""
    judging: dict[str, str]
    """Of each scorer that calls a model, by its key: which one, and what it is sent."""
    scoring: str
    """Everything else: scorers that compute, aggregates, rules."""


def task_parts(definition: TaskDefinition) -> TaskParts:
    others = [part for part in definition.scorers if not asks_a_model(part)]
    computed = (*others, *definition.aggregates, *definition.actions)
    dataset = definition.dataset
    return TaskParts(
        content=dataset.sha256 or fingerprint([dataset.use, dataset.options, dataset.size]),
        asking=short_fingerprint(
            (definition.solver.use, definition.solver.options, *_code([definition.solver], definition))
        ),
        judging={part.key: judging_of(part) for part in definition.scorers if asks_a_model(part)},
        scoring=short_fingerprint(
            [
                *([part.key, part.use, part.options] for part in computed),
                *_code(computed, definition),
            ]
        ),
    )


def score_part(definition: TaskDefinition) -> str:
    """A fingerprint of how an answer becomes the task's score, without the judges, which are in `judging`."""
    headline = definition.aggregates[:1]
    key = headline[0].options.get("scorer") if headline else None
    scorers = [part for part in definition.scorers if key in (None, part.key) and not asks_a_model(part)]
    parts = (*scorers, *headline, *definition.actions)
    named = [[part.use, {key: part.options[key] for key in part.options if key not in _NAMES}] for part in parts]
    return short_fingerprint([*named, *_code(parts, definition)])


_NAMES = ("scorer", "name", *SAID_BY_TASKS)
"""Options that name a number, or say how to read it."""


def scorer_parts(definition: TaskDefinition) -> dict[str, str]:
    """A fingerprint of each scorer with what it may read of a task; a score stands as long as its own is the same."""
    return {
        part.key: short_fingerprint([part.use, part.options, *_code([part], definition)]) for part in definition.scorers
    }


def _code(parts: Sequence[PartSpec], definition: TaskDefinition) -> list[dict[str, str]]:
    """The author's modules that the Python of these parts imports; nothing where there are none."""
    modules = modules_of(parts, definition)
    return [modules] if modules else []


def judging_of(part: PartSpec) -> str:
    """The fingerprint of what a scorer asks which model: a verdict stands as long as it is the same."""
    return short_fingerprint([part.key, part.use, part.options])


def asks_a_model(part: PartSpec) -> bool:
    """Whether a scorer calls another model: a judge, a grader, a model of embeddings."""
    return any(options.get(name) for options in _mappings_in(part.options) for name in OTHER_MODELS)


def _mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """A mapping, and those in its lists and mappings."""
    if isinstance(value, list | tuple):
        return [each for item in value for each in _mappings_in(item)]
    if not isinstance(value, Mapping):
        return []
    return [value, *(each for item in value.values() for each in _mappings_in(item))]
