"""TaskDefinition -> Task: every name resolved through the catalog, every option checked, nothing run yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from assay import catalog
from assay.core.attempt import attempt_key
from assay.core.config import RunConfig
from assay.core.errors import FailureError, UsageError
from assay.core.key_set import KeySet
from assay.core.seams import BuildContext, Dataset, Scorer, Solver
from assay.core.task import REFUSED_HERE, Task
from assay.core.types import Failure, PartSpec, Sample, TaskDefinition
from assay.tasks.trust import require_trust

if TYPE_CHECKING:
    from assay.sandbox import SandboxReport


def build_task(
    definition: TaskDefinition,
    *,
    context: BuildContext | None = None,
    limit: int | None = None,
    trust: bool = False,
    out_of_a_run: bool = False,
) -> Task:
    """The task, ready to be run. An unknown name or option is a `UsageError` that says in which task.

    The only place where names become objects, so also where a task that reaches for more than the user allowed is
    refused: `trust` is what the user said now, `out_of_a_run` that the definition comes out of a `run.json`.
    """
    require_trust([definition], trust=trust, out_of_a_run=out_of_a_run)
    context = replace(
        context or BuildContext(), own_code=True, task=definition.name, paces=definition.metadata.get("paces", {})
    )
    dataset = build_dataset(definition, own_code=True)
    if not definition.dataset.size and not len(dataset):
        where = definition.source or definition.format
        raise UsageError(
            f"{where}: task `{definition.name}` has no samples: its data is empty, or filters keep nothing"
        )
    dataset = dataset if limit is None else FirstSamples(dataset, limit)
    context = replace(context, dataset=dataset)
    scorers: dict[str, Scorer] = {}
    unusable: Failure | None = None
    for part in definition.scorers:
        try:
            scorers[part.key] = _make_part("scorer", part, definition, context, key=part.key)
        except FailureError as error:
            unusable = msgspec.structs.replace(error.failure, kind=REFUSED_HERE)
    return Task(
        definition=definition,
        dataset=dataset,
        solver=_make_part("solver", definition.solver, definition, context),
        scorers=scorers,
        actions={part.key: _make_part("action", part, definition, context) for part in definition.actions},
        unusable=unusable,
    )


def build_dataset(definition: TaskDefinition, *, own_code: bool = False) -> Dataset:
    """The samples alone, for who only reads."""
    found: Dataset = _make("dataset", definition.dataset.use, definition, own_code, **definition.dataset.options)
    return found


def build_solver(definition: TaskDefinition) -> Solver:
    """The solver alone, for who wants to see what would be asked; Python of the author's own is not run."""
    found: Solver = _make_part("solver", definition.solver, definition, BuildContext(task=definition.name))
    return found


def start_scorers(task: Task) -> list[SandboxReport]:
    """Start what confines model-written code, and hear what it is; `FailureError` where this machine cannot."""
    return [scorer.start_here() for scorer in task.scorers.values() if hasattr(scorer, "start_here")]


def keys_of(definitions: Iterable[TaskDefinition], config: RunConfig) -> KeySet | None:
    """The keys of all attempts; None where the samples would have to be asked for elsewhere."""
    found = KeySet()
    for definition in definitions:
        if definition.dataset.use not in IN_FILES:
            return None
        for sample in islice(build_dataset(definition), config.limit):
            for attempt in range(1, config.repeat + 1):
                found.add(int(attempt_key(definition.name, sample, attempt), 16))
    return found


IN_FILES = ("spec_file", "task_folder", "examples", "table", "inline")
"""The datasets that lie in files of this machine."""


class FirstSamples:
    """The first so many samples of a dataset."""

    def __init__(self, dataset: Dataset, limit: int) -> None:
        self._dataset = dataset
        self._limit = limit

    def __len__(self) -> int:
        return min(self._limit, len(self._dataset))

    def __iter__(self) -> Iterator[Sample]:
        return islice(iter(self._dataset), self._limit)

    def walk_from(self, position: int) -> Iterator[Sample]:
        walk_from = getattr(self._dataset, "walk_from", None)
        samples = walk_from(position) if walk_from is not None else islice(self._dataset, position, None)
        return islice(samples, max(0, self._limit - position))


def _make_part(kind: str, part: PartSpec, definition: TaskDefinition, context: BuildContext, **named: Any) -> Any:
    return _make(kind, part.use, definition, context.own_code, **named, **part.options, context=context)


def _make(kind: str, use: str, definition: TaskDefinition, own_code: bool, /, **options: Any) -> Any:
    where = f"{definition.source or definition.format}: task `{definition.name}`"
    try:
        return catalog.resolve(kind, use, own_code=own_code)(**options)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    except TypeError as error:
        raise UsageError(f"{where}: {kind} `{use}`: {error}") from error
