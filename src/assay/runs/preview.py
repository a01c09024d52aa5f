"""The requests that a task would make, for display and for planning: no model is called, no Python but ours runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from assay import catalog
from assay.core.errors import FailureError
from assay.core.seams import Previewable, Solver
from assay.core.types import Completion, Request, Sample, TaskDefinition
from assay.datasets.content import is_elsewhere
from assay.tasks.built_tasks import build_dataset, build_solver

if TYPE_CHECKING:
    from assay.checking.reference_model import Script

Preview = tuple[Sample, list[Request] | FailureError]
"""A sample and its request: none where only the author's Python decides."""


def preview(definition: TaskDefinition, samples: int) -> list[Preview]:
    """The first samples of a task, each with its request.

    No Python but ours runs, and samples that lie on a server are not fetched.
    """
    return _preview(definition, list(islice(_samples_here(definition), samples)))


def preview_sample(definition: TaskDefinition, wanted: str) -> Preview | None:
    """The sample with this id, or else with this number from 1, and its request."""
    by_number = None
    for number, sample in enumerate(_samples_here(definition), 1):
        if sample.id == wanted:
            return _preview(definition, [sample])[0]
        if str(number) == wanted:
            by_number = sample
    return None if by_number is None else _preview(definition, [by_number])[0]


def _samples_here(definition: TaskDefinition) -> Iterable[Sample]:
    return () if is_elsewhere(definition.dataset) else build_dataset(definition)


async def first_requests(definition: TaskDefinition) -> list[Request] | None:
    """The requests of the first sample; None where only the author's code or a server knows them."""
    samples = list(islice(_samples_here(definition), 1))
    if not samples or _runs_own_code(definition):
        return None
    ((_, requests),) = await _scripted(definition, samples)
    return None if isinstance(requests, FailureError) else requests


def _preview(definition: TaskDefinition, samples: Sequence[Sample]) -> list[Preview]:
    if _runs_own_code(definition) or not any(sample.row is not None for sample in samples):
        return [(sample, []) for sample in samples]
    return asyncio.run(_scripted(definition, samples))


def _runs_own_code(definition: TaskDefinition) -> bool:
    return (
        not catalog.is_ours("solver", definition.solver.use) or catalog.solver_needs(definition.solver).runs != "here"
    )


async def _scripted(definition: TaskDefinition, samples: Sequence[Sample]) -> list[Preview]:
    from assay.checking.reference_model import Script  # imports the template engine, which few runs need

    script = Script()
    return await _asked_by(build_solver(definition, script.model_for), samples, script)


async def _asked_by(solver: Solver, samples: Sequence[Sample], script: Script) -> list[Preview]:
    script.answer = Completion(text="‹the model's answer›")
    previews: list[Preview] = []
    for sample in samples:
        script.requests = []
        try:
            if isinstance(solver, Previewable):
                previews.append((sample, [solver.request(sample)]))
                continue
            await solver(sample, script.evaluated)
        except FailureError as error:
            if not script.requests:
                previews.append((sample, error))
                continue
        previews.append((sample, script.requests))
    return previews
