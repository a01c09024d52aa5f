"""What the parts of a task say of themselves, read once and stored with the task.

Reading it imports the parts, so only a task that the user trusts is read. Readers of a run have the answers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from assay import catalog
from assay.core.describe import About, Mean, Range, ScorerInfo, Shares, Value, Whole
from assay.core.errors import FailureError, UsageError
from assay.core.types import PartSpec, TaskDefinition


def with_descriptions(definition: TaskDefinition) -> TaskDefinition:
    """The task with what its scorers and aggregates are; the caller has checked that their code may be imported."""
    scorers = tuple(replace(part, about=_about_scorer(part, definition)) for part in definition.scorers)
    return with_aggregates_described(replace(definition, scorers=scorers))


def runs_programs(definition: TaskDefinition) -> bool:
    """Whether a scorer runs what models write, in the sandbox; known without importing code of strangers."""
    described = (part.about or catalog.describe("scorer", part.use, part.options) for part in definition.scorers)
    return any(isinstance(about, ScorerInfo) and about.runs == "sandbox" for about in described)


def with_aggregates_described(definition: TaskDefinition, *, own_code: bool = True) -> TaskDefinition:
    """The same for aggregates alone; without `own_code` those of the author's are unknown, and are not imported."""
    scorers = definition.scorers
    aggregates = tuple(
        replace(part, about=_about_aggregate(part, definition, described_values(scorers, part.options.get("scorer"))))
        if own_code or catalog.is_ours("aggregate", part.use)
        else replace(part, about=Whole(numbers=("*",)))
        for part in definition.aggregates
    )
    return replace(definition, aggregates=aggregates)


def described_values(scorers: tuple[PartSpec, ...], key: str | None) -> dict[str, Value]:
    """The described values of one scorer, or of all, by name."""
    chosen = [part.about for part in scorers if key in (None, part.key)]
    return {value.name: value for item in chosen if isinstance(item, ScorerInfo) for value in item.values}


def described_ranges(scorers: tuple[PartSpec, ...], key: str | None = None) -> dict[str, Range]:
    """The ranges among them."""
    values = described_values(scorers, key)
    return {name: value.range for name, value in values.items() if value.range is not None}


def _about_scorer(part: PartSpec, definition: TaskDefinition) -> ScorerInfo:
    with _located(definition, "scorer", part):
        try:
            panel = catalog.panel_options(part.use, part.options)
            options = {name: value for name, value in part.options.items() if name not in (catalog.POSTPROCESS, *panel)}
            said = catalog.describe("scorer", part.use, options, own_code=True)
        except FailureError:  # what it needs is not here, so it gives no scores either
            said = None
    if not isinstance(said, ScorerInfo):
        return ScorerInfo()
    if not panel:
        return said
    from assay.scorers.judging.panel import described  # most scorers have one judge, or none

    return described(said, part.options)


def _about_aggregate(part: PartSpec, definition: TaskDefinition, values: Mapping[str, Value]) -> About:
    with _located(definition, "aggregate", part):
        said = catalog.describe("aggregate", part.use, part.options, values, own_code=True)
        return as_task_says(said if isinstance(said, Mean | Whole | Shares) else Whole(numbers=("*",)), part.options)


def as_task_says(said: About, options: Mapping[str, Any]) -> About:
    """A description with what the task says about the number, which counts more than what the part says."""
    changes: dict[str, Any] = {}
    if (bounds := options.get("bounds")) is not None:
        changes["range"] = (float(bounds[0]), float(bounds[1]))
    if (lower := options.get("lower_is_better")) is not None:
        changes["lower_is_better"] = bool(lower)
    match said:
        case Mean():
            return replace(said, value=replace(said.value, **changes))
        case Whole():
            rises_with = said.rises_with and replace(said.rises_with, **changes)
            return replace(said, rises_with=rises_with, **changes)
    return said


def largest_loss_of(definition: TaskDefinition) -> float | None:
    """The most that the task declares the score of a sample to change from one result to another."""
    declared = definition.aggregates[0].options.get("largest_loss") if definition.aggregates else None
    return None if declared is None else float(declared)


def own_options(part: PartSpec, aggregate: Callable[..., Any]) -> dict[str, Any]:
    """The options that an aggregate of the author's is called with."""
    taken = inspect.signature(aggregate).parameters
    words = [name for name in catalog.SAID_BY_TASKS if name not in taken]
    return {name: value for name, value in part.options.items() if name not in ("scorer", *words)}


@contextmanager
def _located(definition: TaskDefinition, kind: str, part: PartSpec) -> Iterator[None]:
    """The options may come from a run file, which anybody can have written."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        raise UsageError(
            f"task `{definition.name}`: the {kind} `{part.key}` ({part.use}) cannot be described with its options: "
            f"{type(error).__name__}: {error}"
        ) from error
