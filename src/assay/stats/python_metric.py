"""The author's `compute_metrics(scores)`: called in a worker process, with a bootstrap interval for what it returns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Summary
from assay.snippets.process import TIME_LIMIT_SECONDS, Snippet
from assay.stats.bootstrap import interval_of_draws
from assay.stats.score_table import ScoreTable

Found = Mapping[str, Any]
"""`values` (name -> number) and `draws` (name -> the same number over resamples), or `error`."""

RESAMPLES = 200
FEWEST = 50
"""With fewer resamples the percentiles of a 95 % interval are anyone's guess."""
LONGEST_SECONDS = 20.0
"""A metric that would take longer over all resamples gets as many as fit, but not fewer than the fewest."""


def python_metric(
    table: ScoreTable,
    *,
    compute_metrics_snippet: str,
    found: Found | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[Summary]:
    """The numbers that the author's `compute_metrics(scores)` returned when the run ended.

    Code is run by the run itself, over all scores and over resamples of them; a report only reads what was found. The
    interval lies between percentiles of the resampled numbers.
    """
    del compute_metrics_snippet, seed
    counts: dict[str, Any] = {"scored": len(table), "failed": table.failed, "timeouts": table.timeouts}
    if found is None:
        reason = "its Python has not been run over these scores; `assay run` does that when a run ends"
        return [Summary(name="python", value=None, reason=reason, signature="python", **counts)]
    if "error" in found:
        return [Summary(name="python", value=None, reason=str(found["error"]), signature="python", **counts)]
    return [_summary(name, float(value), found, level, counts) for name, value in found["values"].items()]


def _summary(name: str, value: float, found: Found, level: float, counts: dict[str, Any]) -> Summary:
    draws = found.get("draws", {}).get(name)
    if not draws:
        details = {"no_interval": found["no_interval"]} if "no_interval" in found else None
        return Summary(name=name, value=value, signature="python", details=details, **counts)
    method = f"bootstrap|n={len(draws)}|seed=0"
    numbers = np.array([math.nan if draw is None else draw for draw in draws])
    interval = interval_of_draws(numbers, value, (0.5 - level / 2, 0.5 + level / 2), level=level, method=method)
    details = {"no_interval": interval.reason} if interval.reason else None
    signature = interval.signature("python")
    return Summary(
        name=name, value=value, low=interval.low, high=interval.high, signature=signature, details=details, **counts
    )


async def compute_metrics(
    source: str, scores: Sequence[Mapping[str, Any]], *, part: str, clusters: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Call the snippet over the scores of all samples that count, then over resamples of their clusters."""
    snippet = Snippet(
        source,
        function="compute_metrics",
        stage="metric",
        part=part,
        time_limit_seconds=10 * TIME_LIMIT_SECONDS,
        context=BuildContext(own_code=True),  # whoever calls us has asked whether it may run
    )
    try:
        found = await _call(snippet, scores)
        if "error" in found:
            return found
        if len(scores) < 2:
            return {**found, "no_interval": "one sample has no spread to judge by"}
        started = perf_counter()
        await _call(snippet, scores)
        seconds = perf_counter() - started
        resamples = min(RESAMPLES, max(FEWEST, int(LONGEST_SECONDS / max(seconds, 1e-9))))
        if seconds * resamples > 3 * LONGEST_SECONDS:
            reason = f"{resamples} resamples of {seconds:.1f} s each would take too long"
            return {**found, "no_interval": reason}
        return {**found, "draws": await _draws(snippet, scores, clusters, found["values"], resamples)}
    finally:
        await snippet.aclose()


async def _draws(
    snippet: Snippet,
    scores: Sequence[Mapping[str, Any]],
    clusters: Sequence[Any] | None,
    values: Mapping[str, float],
    resamples: int,
) -> dict[str, list[float | None]]:
    """Every number over each resample; None where the author's code could not make one."""
    rows: dict[Any, list[int]] = {}
    for row, cluster in enumerate(range(len(scores)) if clusters is None else clusters):
        rows.setdefault(cluster, []).append(row)
    members = list(rows.values())
    random = np.random.default_rng(0)
    draws: dict[str, list[float | None]] = {name: [] for name in values}
    for _ in range(resamples):
        chosen = random.integers(0, len(members), len(members))
        drawn = await _call(snippet, [scores[row] for cluster in chosen for row in members[cluster]])
        for name in values:
            draws[name].append(drawn.get("values", {}).get(name))
    return draws


async def _call(snippet: Snippet, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    try:
        result = await snippet.call({"scores": list(scores)})
    except FailureError as error:
        return {"error": error.failure.message, "kind": error.failure.kind}
    if not isinstance(result, dict):
        return {"error": f"compute_metrics must return a mapping of numbers, it returned {type(result).__name__}"}
    if not result:
        return {"error": "compute_metrics must return a mapping of numbers, and it is empty"}
    values: dict[str, float] = {}
    for name, value in result.items():
        number = _number(value)
        if number is None:
            return {"error": f"compute_metrics must return numbers; `{name}` is {_shown(value)}"}
        values[name] = number
    return {"values": values}


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:  # an integer beyond any float
        return None
    return number if math.isfinite(number) else None


def _shown(value: Any) -> str:
    return f"an integer of {value.bit_length():,} bits" if isinstance(value, int) else repr(value)[:200]
