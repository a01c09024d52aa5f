"""The author's `compute_metrics(scores)`: called in a worker process, its numbers kept as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import FailureError
from assay.core.types import Summary
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.stats.score_table import ScoreTable

Found = Mapping[str, Any]
"""`values` (name -> number), or `error`."""


def python_metric(
    table: ScoreTable,
    *,
    compute_metrics_snippet: str,
    found: Found | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The numbers that the author's `compute_metrics(scores)` returned when the run ended.

    Code is run once, by the run itself; a report only reads what was found. Such a number has no interval: nobody but
    its author knows how it came about.
    """
    del compute_metrics_snippet, level, seed
    counts: dict[str, Any] = {"scored": len(table), "failed": table.failed, "timeouts": table.timeouts}
    if found is None:
        reason = "its Python has not been run over these scores; `assay run` does that when a run ends"
        return [Summary(name="python", value=None, reason=reason, signature="python", **counts)]
    if "error" in found:
        return [Summary(name="python", value=None, reason=str(found["error"]), signature="python", **counts)]
    return [
        Summary(name=name, value=float(value), signature="python", **counts) for name, value in found["values"].items()
    ]


async def compute_metrics(source: str, scores: Sequence[Mapping[str, Any]], *, part: str) -> dict[str, Any]:
    """Call the snippet over the scores of all samples that count."""
    snippet = Snippet(
        source,
        function="compute_metrics",
        stage="metric",
        part=part,
        time_limit_seconds=10 * TIME_LIMIT_SECONDS,
    )
    try:
        result = await snippet.call({"scores": list(scores)})
    except FailureError as error:
        return {"error": f"{error.failure.kind}: {error.failure.message}"}
    finally:
        await snippet.aclose()
    if not isinstance(result, dict):
        return {"error": f"compute_metrics must return a mapping of numbers, it returned {type(result).__name__}"}
    for name, value in result.items():
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            return {"error": f"compute_metrics must return numbers; `{name}` is {value!r}"}
    return {"values": {name: float(value) for name, value in result.items()}}
