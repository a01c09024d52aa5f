"""What a run would take, as `--dry-run` tells it."""

from __future__ import annotations

from msgspec import Struct

from assay.reports.markdown import escaped, table


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


class Estimate(Struct, frozen=True, kw_only=True):
    """A run, before it is made."""

    model: str
    tasks: list[TaskEstimate]
    notes: list[str]


def estimate_table(found: Estimate) -> str:
    header = ["task", "attempts", "owed", "requests", "tokens in", "tokens out", "at most", "cost", "at most"]
    rows = [_row(escaped(each.task), [each]) for each in found.tasks]
    rows.append(_row("**run**", found.tasks))
    return table(header, rows, numeric_from=1)


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
        _money([each.most_cost for each in tasks]),
    ]


def _money(amounts: list[float | None]) -> str:
    if None in amounts or not amounts:
        return "–"
    total = sum(amount or 0.0 for amount in amounts)
    return f"{total:,.2f}" if total >= 1 or total == 0 else f"{total:.3g}"
