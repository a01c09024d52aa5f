"""A built task: the names of its definition resolved to objects that can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.describe import SolverNeeds
from assay.core.fingerprint import fingerprint
from assay.core.seams import Dataset, Scorer, Solver
from assay.core.types import Failure, PartSpec, Sample, Score, TaskDefinition, Trace

REFUSED_HERE = "refused_here"
"""The failure kind of every attempt that this machine cannot score."""

Action = Callable[[Sample, Trace | None, tuple[Score, ...]], bool]
"""True when the rule applies to this attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Samples, a solver and scorers; how scores are aggregated stays in `definition.aggregates`."""

    definition: TaskDefinition
    dataset: Dataset
    solver: Solver
    needs: SolverNeeds = field(default_factory=SolverNeeds)
    scorers: dict[str, Scorer]
    actions: dict[str, Action] = field(default_factory=dict)
    unusable: Failure | None = None
    """Why this machine can run none of the scorers, so that no model need be called."""
    without_score: Mapping[str, Failure] = field(default_factory=dict)
    """Samples whose test cannot judge any answer, by id: no model is called for them."""
    solve: Solver | None = None
    """The solver with its wrappers, such as one that reads the files named in its requests; None: no wrapper."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def fingerprint(self) -> str:
        return task_fingerprint(self.definition)

    def scorers_for(self, sample: Sample) -> Iterator[Scorer]:
        return iter(self.scorers.values() if sample.scorer is None else (self.scorers[sample.scorer],))


_SAMPLE_LOCATIONS = ("path", "examples")
"""Options that locate the samples, in a file or in memory; the dataset's sha256 identifies them."""
_READER_OF = {"examples": "task_folder"}
"""Samples passed from Python count as the file they could have been read from."""


def task_fingerprint(definition: TaskDefinition) -> str:
    """The identity of a task: its definition and the content of its dataset, wherever the files are."""
    dataset = definition.dataset
    options = _without_locations(dataset.use, dataset.options)
    return fingerprint(
        {
            "name": definition.name,
            "dataset": [_READER_OF.get(dataset.use, dataset.use), options, dataset.sha256, dataset.size],
            "solver": _identity(definition.solver),
            "scorers": [_identity(part) for part in definition.scorers],
            "aggregates": [_identity(part) for part in definition.aggregates],
            "actions": [_identity(part) for part in definition.actions],
        }
    )


def _without_locations(use: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a dataset, and of the datasets it joins, without those that locate the samples."""
    kept = {name: value for name, value in options.items() if name not in _SAMPLE_LOCATIONS}
    if use == "joined":
        parts = kept["parts"].items()
        kept["parts"] = {name: [part["use"], _without_locations(part["use"], part["options"])] for name, part in parts}
    return kept


def _identity(part: PartSpec) -> list[Any]:
    return [part.key, part.use, part.options]
