"""A task that has been built: the definition's names turned into objects that can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.fingerprint import fingerprint
from assay.core.seams import Dataset, Scorer, Solver
from assay.core.types import Failure, PartSpec, Sample, Score, TaskDefinition, Trace

REFUSED_HERE = "refused_here"
"""The failure kind of every attempt of a task that this machine cannot run."""

Action = Callable[[Sample, Trace | None, tuple[Score, ...]], bool]
"""True when the rule applies to this attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Samples, how to ask, how to score; how scores are aggregated stays in `definition.aggregates`."""

    definition: TaskDefinition
    dataset: Dataset
    solver: Solver
    scorers: dict[str, Scorer]
    actions: dict[str, Action] = field(default_factory=dict)
    unusable: Failure | None = None
    """Why no attempt of this task can be made here: its scorer needs what this machine lacks."""
    solve: Solver | None = None
    """The solver with its wrappers, such as one that reads the files that its requests name; None: no wrapper."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def fingerprint(self) -> str:
        """What the task is: its definition and the content of its dataset, wherever the files lie."""
        return task_fingerprint(self.definition)

    def scorers_for(self, sample: Sample) -> Iterator[Scorer]:
        if sample.scorer is None:
            return iter(self.scorers.values())
        return iter((self.scorers[sample.scorer],))


_WHERE_SAMPLES_LIE = ("path", "examples")
"""In a file, or in memory; the dataset's sha256 says which they are."""
_FILES_OF = {"examples": "task_folder"}
"""Samples handed over from Python are those of the file that they could lie in."""


def task_fingerprint(definition: TaskDefinition) -> str:
    """Two tasks with the same fingerprint ask and score the same; where the samples lie is not part of it."""
    dataset = _without_places(definition.dataset.use, definition.dataset.options)
    use = _FILES_OF.get(definition.dataset.use, definition.dataset.use)
    return fingerprint(
        {
            "name": definition.name,
            "dataset": [use, dataset, definition.dataset.sha256, definition.dataset.size],
            "solver": _identity(definition.solver),
            "scorers": [_identity(part) for part in definition.scorers],
            "aggregates": [_identity(part) for part in definition.aggregates],
            "actions": [_identity(part) for part in definition.actions],
        }
    )


def _without_places(use: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a dataset, and of those that it puts side by side, but for where the samples lie."""
    kept = {name: value for name, value in options.items() if name not in _WHERE_SAMPLES_LIE}
    if use == "joined":
        parts = {name: (part["use"], part["options"]) for name, part in kept["parts"].items()}
        kept["parts"] = {name: [use, _without_places(use, options)] for name, (use, options) in parts.items()}
    return kept


def _identity(part: PartSpec) -> list[Any]:
    return [part.key, part.use, part.options]
