"""Metrics of an lm_eval task that are not means over samples (f1, mcc, bleu, perplexity), by its own functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any

from assay.bridges.lm_eval.lm_eval_process import LIBRARY, named_task
from assay.bridges.process.names import LM_EVAL
from assay.core.describe import Whole, describes
from assay.core.errors import FailureError
from assay.core.types import PartSpec, Summary
from assay.snippets.process import TIME_LIMIT_SECONDS
from assay.stats.metric_snippet import read_result
from assay.stats.python_metric import MetricOutput, python_metric
from assay.stats.score_table import ScoreTable

LONGEST_SECONDS = 10 * TIME_LIMIT_SECONDS
"""The time limit of a call over all samples, as for the snippets of a task file."""
_keys = count()


@describes(
    lambda options, _: Whole(lower_is_better=False, runs="library", task_of_library=named_task(options), numbers=("*",))
)
def lm_eval_aggregation(
    table: ScoreTable,
    *,
    task: str,
    library: Mapping[str, Any],
    means: list[str],
    output: MetricOutput | None = None,
    level: float = 0.95,
) -> list[Summary]:
    """The numbers of an lm-evaluation-harness task that are not means over samples, by the task's own aggregation.

    Computed when the run ends, over all samples and over resamples of them; a report only reads the results.
    """
    del task, library, means
    return python_metric(table, output=output, level=level)


async def aggregated_values(
    part: PartSpec, scores: Sequence[Mapping[str, Any]]
) -> Callable[[Sequence[int] | None], Awaitable[dict[str, Any]]]:
    """A function that aggregates the given rows of these scores; the scores are sent to the process once."""
    options = part.options
    key = str(next(_keys))
    order = {**options["library"], "task": options["task"], "means": options["means"], "key": key}
    process = LIBRARY.process()
    kept = [{"values": score["values"], "items": score["metadata"].get("items", {})} for score in scores]
    await process.ask_and_wait("keep_scores", key=key, scores=kept)

    async def values_over(rows: Sequence[int] | None) -> dict[str, Any]:
        try:
            chosen = rows if rows is None else list(rows)
            result = await process.ask_and_wait("aggregate", limit_seconds=LONGEST_SECONDS, **order, rows=chosen)
        except FailureError as error:
            message = f"the aggregation of `{LM_EVAL}{options['task']}`: {error.failure.message}"
            return {"error": message, "kind": error.failure.kind}
        return result if "error" in result else read_result(result["values"])

    return values_over
