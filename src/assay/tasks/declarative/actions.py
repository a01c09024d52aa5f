"""Action rules: samples that match a filter are kept out of the aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.prompts.filters import Filter, FilterError
from assay.snippets.payload import solver_output


class ExcludeFromMetrics:
    """True for attempts that the rule takes out of the aggregates; they stay in the journal."""

    def __init__(self, rule: Filter, has_solver: bool) -> None:
        self._filter = rule
        self._has_solver = has_solver

    def __call__(self, sample: Sample, trace: Trace | None, scores: tuple[Score, ...]) -> bool:
        variables: dict[str, Any] = {
            "sample": sample.row or {},
            "scores": {score.name: dict(score.values) for score in scores},
        }
        if trace is not None and self._has_solver:
            variables["solver_output"] = solver_output(trace)
        try:
            return self._filter.matches(variables)
        except FilterError as error:
            message = f"sample `{sample.id}`: {error}"
            raise FailureError(
                Failure(stage="action", part=self._filter.where, kind="filter", message=message)
            ) from error


def exclude_from_metrics(
    *,
    rule: str,
    filter: Mapping[str, Any],  # noqa: A002 - the field's own name
    has_solver: bool = True,
    context: object = None,
) -> ExcludeFromMetrics:
    """Keeps samples that match a filter over `sample`, `solver_output` and `scores` out of the aggregates."""
    return ExcludeFromMetrics(Filter(filter, where=f"actions.{rule}.filter"), has_solver)
