"""The author's `compute_metrics(scores)`, called once: numbers by name, or the reason for none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.text.wording import show_no_score


def metric_snippet(source: str, part: str, modules: Mapping[str, str]) -> Snippet:
    """The snippet in its own process. The caller has checked that it may run.

    `modules` are those of the author's that it may import.
    """
    return Snippet(
        source,
        function="compute_metrics",
        stage="metric",
        part=part,
        time_limit_seconds=10 * TIME_LIMIT_SECONDS,
        context=BuildContext(own_code=True, modules=modules),
    )


async def metric_values(snippet: Snippet, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """`values` by name, or the `error`. Each score is `{"values": …, "metadata": …}`."""
    try:
        result = await snippet.call({"scores": list(scores)})
    except FailureError as error:
        return {"error": error.failure.message, "kind": error.failure.kind}
    return read_result(result)


def read_result(result: Any) -> dict[str, Any]:
    """The `values` that a metric returned, or the `error` in them."""
    if not isinstance(result, dict):
        return {"error": f"compute_metrics must return a mapping of numbers, got {type(result).__name__}"}
    if not result:
        return {"error": "compute_metrics must return a mapping of numbers, got an empty one"}
    values: dict[str, float] = {}
    for name, value in result.items():
        number = _number(value)
        if number is None:
            return {"error": f"compute_metrics must return numbers; `{name}` is {show_no_score(value)}"}
        values[name] = number
    return {"values": values}


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:  # an integer too large for a float
        return None
    return number if math.isfinite(number) else None
