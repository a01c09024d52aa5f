"""What a task's aggregates give for the scores of a table: its numbers, each with interval and bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec.structs import replace

from assay import catalog
from assay.core.describe import Mean
from assay.core.errors import UsageError
from assay.core.types import PartSpec, Summary, TaskDefinition
from assay.results.board.journal_table import TaskTable
from assay.results.board.python_metrics import KeptMetrics, output_for
from assay.results.measure import runs_code
from assay.stats.failure_bounds import SummariesOf, with_bounds
from assay.stats.score_table import ScoreTable


def summaries_of(definition: TaskDefinition, table: TaskTable, level: float, python: KeptMetrics) -> list[Summary]:
    """The results of the task's aggregates, the headline first."""
    return _with_unique_names(summaries_by_part(definition, table, level, python))


def summaries_by_part(
    definition: TaskDefinition, table: TaskTable, level: float, python: KeptMetrics
) -> list[tuple[PartSpec, Summary]]:
    """The same, each with its aggregate and under the name that the aggregate gave it."""
    summaries: list[tuple[PartSpec, Summary]] = []
    for part in definition.aggregates:
        scores, computed = table.tables[part.options.get("scorer")], computed_here(part, level)
        with _bad_options_refused(definition, part):
            own = [] if computed is None else with_bounds(computed(scores), computed, scores, part.about)
            if runs_code(part):
                output = output_for(python, definition.name, part.key, table)
                own = _completed(catalog.resolve("aggregate", "python")(scores, output=output, level=level), own)
        summaries += [(part, summary) for summary in own]
    return summaries


def headline_over(definition: TaskDefinition, part: PartSpec, level: float) -> Callable[[ScoreTable], Summary] | None:
    """What gives the task's score over some of its attempts; None where only code that is not ours knows it."""
    aggregate = computed_here(part, level)
    if aggregate is None:
        return None

    def headline(scores: ScoreTable) -> Summary:
        with _bad_options_refused(definition, part):
            return aggregate(scores)[0]

    return headline


def computed_here(part: PartSpec, level: float) -> SummariesOf | None:
    """What computes an aggregate without code that is not ours: of one that says it is a mean, that mean."""
    if not runs_code(part):
        return partial(catalog.resolve("aggregate", part.use), **_options(part), level=level)
    match part.about:
        case Mean(value=value, weights=None, same_as=None):
            mean = catalog.resolve("aggregate", "mean")
            return partial(mean, field=value.name, bounds=value.range, level=level)
    return None


def _completed(own: list[Summary], means: list[Summary]) -> list[Summary]:
    """The numbers of an aggregate that is not ours, the first with the interval and the bounds of the mean it is."""
    if not means or not own:
        return own
    first, mean = own[0], means[0]
    if (
        first.value is None
        or mean.value is None
        or not math.isclose(first.value, mean.value, rel_tol=1e-9, abs_tol=1e-12)
    ):
        return own
    if first.low is None:
        first = replace(first, low=mean.low, high=mean.high, signature=mean.signature, details=mean.details)
    return [replace(first, bounds=mean.bounds), *own[1:]]


_NOT_PASSED = ("scorer", "lower_is_better", "largest_loss")
"""Options that say what a number is over and how to read it, not how to compute it."""


def _options(part: PartSpec) -> dict[str, Any]:
    return {key: value for key, value in part.options.items() if key not in _NOT_PASSED}


@contextmanager
def _bad_options_refused(definition: TaskDefinition, part: PartSpec) -> Iterator[None]:
    """The run file is untrusted: it may give an aggregate options that it does not have."""
    try:
        yield
    except (TypeError, ValueError, KeyError, ArithmeticError) as error:
        raise UsageError(
            f"task `{definition.name}`: the aggregate `{part.key}` ({part.use}) cannot be computed with the run's "
            f"options: {type(error).__name__}: {error}"
        ) from error


def _with_unique_names(summaries: list[tuple[PartSpec, Summary]]) -> list[Summary]:
    """A name used by two aggregates is prefixed with the aggregate's key, and with its scorer's if needed."""
    short = [summary.name for _, summary in summaries]
    by_key = [f"{part.key.rpartition('.')[2]}_{summary.name}" for part, summary in summaries]
    by_scorer = [f"{part.options.get('scorer')}_{name}" for (part, _), name in zip(summaries, by_key, strict=True)]
    unique = []
    for index, (_, summary) in enumerate(summaries):
        names = next((names for names in (short, by_key) if names.count(names[index]) == 1), by_scorer)
        unique.append(summary if names is short else replace(summary, name=names[index]))
    return unique
