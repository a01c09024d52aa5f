"""A built task: the names of its definition resolved to objects that can be called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.core.describe import Range, SolverNeeds
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
    ranges: Mapping[str, Mapping[str, Range]] = field(default_factory=dict)
    """What values of the author's own scorers can be, by the scorer's key: another number is a failure."""
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


def task_fingerprint(definition: TaskDefinition) -> str:
    """The identity of a task: its definition and the content of its dataset, wherever the files are."""
    dataset = definition.dataset
    return fingerprint(
        {
            "name": definition.name,
            "dataset": [dataset.use, _without_locations(dataset.options), dataset.sha256, dataset.size],
            "solver": _identity(definition.solver),
            "scorers": [_identity(part) for part in definition.scorers],
            "aggregates": [_identity(part) for part in definition.aggregates],
            "actions": [_identity(part) for part in definition.actions],
            **({"modules": definition.modules} if definition.modules else {}),
        }
    )


def _without_locations(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a dataset, and of the datasets it is made of, without those that locate the samples."""
    kept = {name: value for name, value in options.items() if name not in _SAMPLE_LOCATIONS}
    return {name: _parts_without_locations(value) if _are_parts(value) else value for name, value in kept.items()}


def _are_parts(value: Any) -> bool:
    """Whether an option has datasets under names, each with `use` and `options` and nothing else."""
    named = value.values() if isinstance(value, Mapping) else ()
    return bool(named) and all(isinstance(part, Mapping) and {*part} == {"use", "options"} for part in named)


def _parts_without_locations(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: [part["use"], _without_locations(part["options"])] for name, part in parts.items()}


def _identity(part: PartSpec) -> list[Any]:
    return [part.key, part.use, part.options]
