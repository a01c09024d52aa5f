"""Groups of tasks: the means that a group reports over its tasks' numbers, weighted by samples or equally.

A group counts every task below it, however deep, as lm-evaluation-harness does, so it is never a mean of means.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from assay.core.types import Summary, TaskDefinition
from assay.results.board.board_types import GroupRow, ScoreInterval, TaskRow
from assay.stats.combined_means import TaskScore, weighted_mean_interval
from assay.task_records import GroupMetric


def group_rows(definitions: Sequence[TaskDefinition], rows: Sequence[TaskRow], level: float) -> list[GroupRow]:
    """One row for each group and number, groups of groups before the groups inside them."""
    members: dict[str, list[TaskRow]] = {}
    reported: dict[str, tuple[GroupMetric, ...]] = {}
    for definition, row in zip(definitions, rows, strict=True):
        for group in definition.shown.groups:
            members.setdefault(group.name, []).append(row)
            reported[group.name] = group.metrics
    widest = sorted(members, key=lambda name: -len(members[name]))
    return [
        _row(name, number, item.weight_by_size, members[name], level)
        for name in widest
        for item in reported[name]
        for number in _numbers(item, members[name])
    ]


def _numbers(reported: GroupMetric, members: Sequence[TaskRow]) -> list[str]:
    """The tasks' names of the number, under each filter that the group lists, or under all."""
    metric = reported.metric
    if reported.filters is not None:
        return [metric if each == "none" else f"{metric},{each}" for each in reported.filters]
    names = {summary.name for row in members for summary in row.aggregates}
    return sorted(name for name in names if name == metric or name.startswith(f"{metric},"))


def _row(name: str, number: str, weight_by_size: bool, members: Sequence[TaskRow], level: float) -> GroupRow:
    summaries = [
        (row, next((aggregate for aggregate in row.aggregates if aggregate.name == number), None)) for row in members
    ]
    # a task without this number is left out; one that could not be scored leaves the group without a mean
    parts = [(row, summary) for row, summary in summaries if summary is not None]
    fields: dict[str, Any] = {
        "group": name,
        "metric": number,
        "tasks": [row.task for row, _ in parts],
        "weight_by_size": weight_by_size,
        "scored": sum(each.scored for _, each in parts),
    }
    missing = [row.task for row, each in parts if each.value is None]
    if missing or not parts:
        reason = f"there is no score of {', '.join(missing)}" if parts else "none of its tasks has this number"
        return GroupRow(score=None, reason=reason, **fields)
    weights = [float(each.scored) if weight_by_size else 1.0 for _, each in parts]
    total = math.fsum(weights)
    shares = [weight / total for weight in weights]
    score = math.fsum(share * (each.value or 0.0) for share, (_, each) in zip(shares, parts, strict=True))
    return GroupRow(score=score, interval=_interval([each for _, each in parts], shares, level), **fields)


def _interval(parts: Sequence[Summary], shares: Sequence[float], level: float) -> ScoreInterval | None:
    scores = [_score(part, level) for part in parts]
    known = [score for score in scores if score is not None]
    if len(known) < len(parts):
        return None
    interval = weighted_mean_interval(known, shares, level)
    if interval.low is None or interval.high is None:
        return None
    return ScoreInterval(low=interval.low, high=interval.high, level=level, method=interval.method)


def _score(summary: Summary, level: float) -> TaskScore | None:
    if summary.value is None or summary.low is None or summary.high is None:
        return None
    error = (summary.details or {}).get("standard_error")
    own = float(error) if isinstance(error, int | float) else None
    return TaskScore(summary.value, summary.low, summary.high, level, summary.signature, summary.scored, own)
