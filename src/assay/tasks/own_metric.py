"""A metric given as a function, or another one by name, in place of the one that a task names."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from assay import catalog
from assay.core.errors import UsageError
from assay.core.seams import Metric
from assay.core.types import PartSpec, TaskDefinition
from assay.formats.folder.reader import MEAN_SCORE
from assay.formats.folder.rules import CATALOG_NAMES
from assay.formats.likelihood_words import is_likelihood
from assay.own_functions import choose, name_of, source_of
from assay.scorers.from_metric import check_metric
from assay.text.wording import in_python


def metric_name(metric: str | Metric) -> str:
    """The name of a metric that may be a function; `UsageError` when it cannot be one."""
    if isinstance(metric, str):
        return metric
    if inspect.isclass(metric) or not inspect.isfunction(metric):
        raise UsageError(f"{in_python(metric)} is not a metric: give a function, or the name of one")
    check_metric(metric.__name__, metric)
    return name_of(metric)


def with_metric(definition: TaskDefinition, metric: str | Metric) -> TaskDefinition:
    """The task, scored by this metric instead; how an answer is extracted from a text stays as the task says."""
    name = metric_name(metric)
    choose(name)
    if is_likelihood(definition.metric):
        raise UsageError(f"task `{definition.name}` measures likelihoods, so no metric of texts can take its place")
    options: dict[str, Any] = {"metric": CATALOG_NAMES.get(name, name)}
    catalog.resolve("metric", options["metric"], own_code=True)
    scorers = [PartSpec(key=part.key, use="metric", options=options | _kept(part)) for part in definition.scorers]
    functions = {} if isinstance(metric, str) else {name: source_of(metric)}
    provenance = msgspec.structs.replace(definition.provenance, functions=functions)
    return msgspec.structs.replace(
        definition, scorers=tuple(scorers), aggregates=(MEAN_SCORE,), metric=name, actions=(), provenance=provenance
    )


def _kept(part: PartSpec) -> dict[str, Any]:
    rule = part.options.get("post_process")
    return {"post_process": rule} if rule else {}
