"""The estimate of a run, as `--dry-run` shows it."""

from __future__ import annotations

from assay.costs.estimate import RunEstimate, TaskEstimate
from assay.pages.document import Cell, Span, TextTable
from assay.text.numbers import amount as amount_of


def estimate_tables(estimate: RunEstimate) -> list[TextTable]:
    header = ["task", "attempts", "remaining", "requests", "tokens in", "tokens out", "at most", "cost", "at most"]
    rows = [_row(each.task, [each]) for each in estimate.tasks]
    rows.append(_row(Span("run", "strong"), estimate.tasks))
    judged: list[list[Cell]] = [
        [
            each.task,
            judge.model,
            f"≥ {judge.requests:,}",
            f"≥ {judge.tokens_in:,}",
            "unknown" if judge.least_cost is None else f"≥ {_money([judge.least_cost])}",
        ]
        for each in estimate.tasks
        for judge in each.judges
    ]
    tables = [
        TextTable(header=header, rows=rows, numeric_from=1, drops=("attempts", "remaining", "tokens in", "requests"))
    ]
    if judged:
        judges = ["task", "judge", "requests", "tokens in", "cost"]
        tables.append(TextTable(header=judges, rows=judged, numeric_from=2, drops=("tokens in",)))
    return tables


def _row(name: Cell, tasks: list[TaskEstimate]) -> list[Cell]:
    most = [each.most_tokens_out for each in tasks]
    return [
        name,
        f"{sum(each.attempts for each in tasks):,}",
        f"{sum(each.remaining for each in tasks):,}",
        f"{sum(each.requests for each in tasks):,}",
        f"{sum(each.tokens_in for each in tasks):,}",
        f"{sum(each.tokens_out for each in tasks):,}",
        "–" if None in most else f"{sum(each or 0 for each in most):,}",
        _money([each.cost for each in tasks]),
        "–" if None in most else _money([task.most_cost for task in tasks]),
    ]


def _money(amounts: list[float | None]) -> str:
    if not amounts:
        return "–"
    if None in amounts:
        return "unknown"
    return amount_of(sum(amount or 0.0 for amount in amounts))
