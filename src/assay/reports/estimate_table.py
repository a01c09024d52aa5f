"""What a run would take, as `--dry-run` tells it."""

from __future__ import annotations

from msgspec import Struct

from assay.reports.markdown import escaped, table


class JudgeEstimate(Struct, frozen=True, kw_only=True):
    """What one judge would be asked, as far as that can be known before the answers are."""

    model: str
    requests: int
    tokens_in: int
    least_cost: float | None
    """Of the prompts alone; what a judge will say is not known."""


class TaskEstimate(Struct, frozen=True, kw_only=True):
    """One task, before it is run."""

    task: str
    attempts: int
    owed: int
    """Attempts that an earlier session has not finished."""
    requests: int
    tokens_in: int
    tokens_out: int
    most_tokens_out: int | None
    """When every answer is as long as allowed; None when nothing limits it."""
    cost: float | None
    most_cost: float | None
    currency: str
    exact: bool
    """Whether every sample's prompt was counted."""
    judges: list[JudgeEstimate] = []


class Estimate(Struct, frozen=True, kw_only=True):
    """A run, before it is made."""

    model: str
    tasks: list[TaskEstimate]
    notes: list[str]


def estimate_table(found: Estimate) -> str:
    header = ["task", "attempts", "owed", "requests", "tokens in", "tokens out", "at most", "cost", "at most"]
    rows = [_row(escaped(each.task), [each]) for each in found.tasks]
    rows.append(_row("**run**", found.tasks))
    judged = [
        [
            escaped(each.task),
            escaped(judge.model),
            f"≥ {judge.requests:,}",
            f"≥ {judge.tokens_in:,}",
            "unknown" if judge.least_cost is None else f"≥ {_money([judge.least_cost])}",
        ]
        for each in found.tasks
        for judge in each.judges
    ]
    parts = [table(header, rows, numeric_from=1)]
    if judged:
        parts.append(table(["task", "judge", "requests", "tokens in", "cost"], judged, numeric_from=2))
    return "\n\n".join(parts)


def _row(name: str, tasks: list[TaskEstimate]) -> list[str]:
    most = [each.most_tokens_out for each in tasks]
    return [
        name,
        f"{sum(each.attempts for each in tasks):,}",
        f"{sum(each.owed for each in tasks):,}",
        f"{sum(each.requests for each in tasks):,}",
        f"{sum(each.tokens_in for each in tasks):,}",
        f"{sum(each.tokens_out for each in tasks):,}",
        "–" if None in most else f"{sum(each or 0 for each in most):,}",
        _money([each.cost for each in tasks]),
        "–" if None in most else _money([each.most_cost for each in tasks]),
    ]


def _money(amounts: list[float | None]) -> str:
    if not amounts:
        return "–"
    if None in amounts:
        return "unknown"
    total = sum(amount or 0.0 for amount in amounts)
    return f"{total:,.2f}" if total >= 1 or total == 0 else f"{total:.3g}"
