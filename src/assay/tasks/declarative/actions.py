"""Action rules: samples that match a filter are kept out of the aggregates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Failure, Sample, Score, Trace
from assay.prompts.filters import Filter, FilterError
from assay.snippets.payload import solver_output


class ExcludeFromMetrics:
    """True for attempts that the rule takes out of the aggregates; they stay in the journal."""

    def __init__(self, rule: Filter, expression: str, has_solver: bool) -> None:
        self._filter = rule
        self._has_solver = has_solver
        self._scorers = {bare or quoted for bare, quoted in _SCORER.findall(expression)}
        self._reads_answer = has_solver and "solver_output" in expression

    def __call__(self, sample: Sample, trace: Trace | None, scores: tuple[Score, ...]) -> bool:
        self._refuse_what_is_missing(sample, trace, scores)
        variables: dict[str, Any] = {
            "sample": sample.row or {},
            "scores": {score.name: dict(score.values) for score in scores},
        }
        if trace is not None and self._has_solver:
            variables["solver_output"] = solver_output(trace)
        try:
            return self._filter.matches(variables)
        except FilterError as error:
            raise self._failure(sample, str(error)) from error

    def _refuse_what_is_missing(self, sample: Sample, trace: Trace | None, scores: tuple[Score, ...]) -> None:
        """What a broken part did not leave does not "not exist": the rule cannot be applied."""
        missing = sorted(self._scorers - {score.name for score in scores})
        if missing:
            raise self._failure(sample, f"{self._filter.where}: there is no score of `{missing[0]}`")
        if trace is None and self._reads_answer:
            raise self._failure(sample, f"{self._filter.where}: there is no answer")

    def _failure(self, sample: Sample, message: str) -> FailureError:
        message = f"sample `{sample.id}`: {message}"
        return FailureError(Failure(stage="action", part=self._filter.where, kind="filter", message=message))


def exclude_from_metrics(
    *,
    rule: str,
    filter: Mapping[str, Any],  # noqa: A002 - the field's own name
    has_solver: bool = True,
    context: object = None,
) -> ExcludeFromMetrics:
    """Keeps samples that match a filter over `sample`, `solver_output` and `scores` out of the aggregates."""
    made = Filter(filter, where=f"actions.{rule}.filter")
    return ExcludeFromMetrics(made, str(filter["expression"]), has_solver)


_SCORER = re.compile(r"""\bscores\s*(?:\.\s*(\w+)|\[\s*['"]([^'"]+)['"]\s*\])""")
"""A scorer whose values an expression reads."""
