"""TaskDefinition -> Task: every name resolved through the catalog, every option checked, nothing run yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay import catalog
from assay.core.errors import FailureError, UsageError
from assay.core.seams import Dataset, Model, Scorer
from assay.core.task import REFUSED_HERE, Task
from assay.core.types import Failure, PartSpec, Sample, TaskDefinition
from assay.tasks.declarative.trust import trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """What scorers, solvers and actions may need besides their options: every factory of theirs is given one."""

    model_for: Callable[..., Model] | None = None
    """Another model by what a user writes for it, and its options: judges, user simulators."""
    project: Path = field(default_factory=Path.cwd)
    trust: bool = False
    min_sandbox: str | None = None
    task: str = ""
    """The name of the task being built, for messages."""
    snippets: bool = False
    """Whether the task's own Python may run: the file is of this project, or the user trusts it."""
    paces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """How fast each other model may be asked, by the key the task has for it."""
    dataset: Dataset | None = None
    """Its samples, for scorers that look at all of them."""


def build_task(definition: TaskDefinition, *, context: BuildContext | None = None, limit: int | None = None) -> Task:
    """The task, ready to be run. An unknown name or option is a `UsageError` that says in which task."""
    context = context or BuildContext()
    dataset: Dataset = _make("dataset", definition.dataset.use, definition, **definition.dataset.options)
    dataset = dataset if limit is None else FirstSamples(dataset, limit)
    context = replace(
        context,
        task=definition.name,
        dataset=dataset,
        snippets=context.trust or trusted(definition),
        paces=definition.metadata.get("paces", {}),
    )
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
    return _make(kind, part.use, definition, **named, **part.options, context=context)


def _make(kind: str, use: str, definition: TaskDefinition, **options: Any) -> Any:
    where = f"{definition.source or definition.format}: task `{definition.name}`"
    try:
        return catalog.resolve(kind, use)(**options)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    except TypeError as error:
        raise UsageError(f"{where}: {kind} `{use}`: {error}") from error
