"""What the author's `compute_metrics(scores)` returned (see `runs/python_metrics.py`), with a bootstrap interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import numpy as np

from assay.core.describe import Whole, describes
from assay.core.types import Summary
from assay.part_options import InFiles, PythonOption, part
from assay.stats.bootstrap import expanded_tails, interval_of_draws
from assay.stats.score_table import ScoreTable

MetricOutput = Mapping[str, Any]
"""`values` (name -> number) of `scored` attempts and `draws` (name -> the same number over resamples of `units`, the
clusters), or `error`; or the `summaries` of a custom aggregate, with the `level` of their intervals."""


@describes(Whole(runs="snippet", numbers=("*",)))
@part(
    "The author's `compute_metrics(scores)`.",
    example="""\
type: python
compute_metrics_snippet: |
  def compute_metrics(scores):
      return {"longest": max(score.values["words"] for score in scores)}
""",
)
def python_metric(
    table: ScoreTable,
    *,
    compute_metrics_snippet: Annotated[
        str, PythonOption("Returns a mapping of names to numbers.", "compute_metrics", ("scores",)), InFiles()
    ] = "",
    output: MetricOutput | None = None,
    level: float = 0.95,
) -> list[Summary]:
    """The numbers that the author's `compute_metrics(scores)` returned when the run ended.

    The run itself executes the code, over all scores and over resamples of them; a report only reads the results. The
    interval lies between percentiles of the resampled numbers, moved outwards by what few samples lack.
    """
    del compute_metrics_snippet
    # the table holds numbers only, and a corpus-level metric may be computed from other values
    scored = output["scored"] if output is not None and "scored" in output else len(table)
    counts: dict[str, Any] = {"scored": scored, "failed": table.failed, "timeouts": table.timeouts}
    if output is None:
        reason = "its Python has not been run over these scores; `assay run` does that when a run ends"
        return [Summary(name="python", value=None, reason=reason, signature="python", **counts)]
    if "error" in output:
        return [Summary(name="python", value=None, reason=str(output["error"]), signature="python", **counts)]
    if "summaries" in output:
        return [_at_level(msgspec.convert(summary, Summary), output["level"], level) for summary in output["summaries"]]
    return [_summary(name, float(value), output, level, counts) for name, value in output["values"].items()]


def _at_level(summary: Summary, computed: float, level: float) -> Summary:
    """The result of a custom aggregate; an interval for another level is dropped."""
    if computed == level or summary.low is None:
        return summary
    reason = f"its Python computed one for a level of {computed:g} when the run ended, and none for {level:g}"
    return msgspec.structs.replace(summary, low=None, high=None, details={"no_interval": reason})


def _summary(name: str, value: float, output: MetricOutput, level: float, counts: dict[str, Any]) -> Summary:
    draws = output.get("draws", {}).get(name)
    if not draws:
        reason = output.get("no_interval") or output.get("hanging", {}).get(name)
        details = {"no_interval": reason} if reason else None
        return Summary(name=name, value=value, signature="python", details=details, **counts)
    method = f"bootstrap|n={len(draws)}|seed=0"
    numbers = np.array([math.nan if draw is None else draw for draw in draws])
    interval = interval_of_draws(numbers, value, expanded_tails(level, output["units"]), level=level, method=method)
    details = {"no_interval": interval.reason} if interval.reason else None
    signature = interval.signature("python")
    return Summary(
        name=name, value=value, low=interval.low, high=interval.high, signature=signature, details=details, **counts
    )
