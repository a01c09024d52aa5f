"""Action rules: samples that match a filter are kept out of the aggregates."""

from __future__ import annotations

from collections.abc import Mapping

from assay.core.errors import FailureError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Failure, Sample, Score, Trace
from assay.prompts.filters import Filter, FilterError
from assay.prompts.template import expression_reads
from assay.snippets.payload import solver_output


class ExcludeFromMetrics:
    """True for attempts that the rule takes out of the aggregates; they stay in the journal."""

    def __init__(self, rule: Filter, expression: str, has_solver: bool) -> None:
        self._filter = rule
        self._has_solver = has_solver
        paths = expression_reads(expression).paths
        self._scorers = {path[1] for path in paths if path[0] == "scores" and len(path) > 1}
        self._reads_answer = has_solver and any(path[0] == "solver_output" for path in paths)

    def __call__(self, sample: Sample, trace: Trace | None, scores: tuple[Score, ...]) -> bool:
        self._refuse_what_is_missing(sample, trace, scores)
        variables: dict[str, object] = {
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
        """A value missing because a part failed does not count as "not exists": the rule cannot be applied."""
        missing = sorted(self._scorers - {score.name for score in scores})
        if missing:
            raise self._failure(sample, f"{self._filter.where}: there is no score of `{missing[0]}`")
        if trace is None and self._reads_answer:
            raise self._failure(sample, f"{self._filter.where}: there is no answer")

    def _failure(self, sample: Sample, message: str) -> FailureError:
        message = f"sample `{sample.id}`: {message}"
        where = self._filter.where
        return FailureError(Failure(stage="action", part=where, field=where, kind="filter", message=message))


def exclude_from_metrics(
    *,
    rule: str,
    filter: Mapping[str, object],  # noqa: A002 - the field's own name
    has_solver: bool = True,
    context: BuildContext = NO_CONTEXT,
) -> ExcludeFromMetrics:
    """Keeps samples that match a filter over `sample`, `solver_output` and `scores` out of the aggregates."""
    made = Filter(filter, where=f"actions.{rule}.filter")
    return ExcludeFromMetrics(made, str(filter["expression"]), has_solver)
