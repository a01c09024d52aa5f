"""The estimate of a run, as `--dry-run` shows it."""

from __future__ import annotations

from assay.costs.estimate import JudgeEstimate, RunEstimate, TaskEstimate
from assay.pages.document import Cell, Span, TextTable
from assay.text.numbers import MISSING
from assay.text.numbers import amount as amount_of


def estimate_tables(estimate: RunEstimate) -> list[TextTable]:
    priced = any(each.cost or (each.cost is None and estimate.is_billed(estimate.model)) for each in estimate.tasks)
    header = ["task", "attempts", "remaining", "requests", "tokens in", "tokens out", "at most"]
    header += ["cost", "at most"] if priced else []
    rows = [_row(each.task, [each], priced) for each in estimate.tasks]
    rows.append(_row(Span("run", "strong"), estimate.tasks, priced))
    judges = [(each.task, judge) for each in estimate.tasks for judge in each.judges]
    paid = any(each.least_cost or (each.least_cost is None and estimate.is_billed(each.model)) for _, each in judges)
    judged: list[list[Cell]] = [
        [
            task,
            judge.model,
            f"≥ {judge.requests:,}",
            f"≥ {judge.tokens_in:,}",
            *([_least(judge, estimate)] if paid else []),
        ]
        for task, judge in judges
    ]
    tables = [
        TextTable(header=header, rows=rows, numeric_from=1, drops=("attempts", "remaining", "tokens in", "requests"))
    ]
    if judged:
        columns = ["task", "judge", "requests", "tokens in", *(["cost"] if paid else [])]
        tables.append(TextTable(header=columns, rows=judged, numeric_from=2, drops=("tokens in",)))
    return tables


def _least(judge: JudgeEstimate, estimate: RunEstimate) -> str:
    if judge.least_cost is None:
        return "unknown" if estimate.is_billed(judge.model) else MISSING
    return f"≥ {_money([judge.least_cost])}"


def _row(name: Cell, tasks: list[TaskEstimate], priced: bool) -> list[Cell]:
    most = [each.most_tokens_out for each in tasks]
    return [
        name,
        f"{sum(each.attempts for each in tasks):,}",
        f"{sum(each.remaining for each in tasks):,}",
        f"{sum(each.requests for each in tasks):,}",
        f"{sum(each.tokens_in for each in tasks):,}",
        f"{sum(each.tokens_out for each in tasks):,}",
        "–" if None in most else f"{sum(each or 0 for each in most):,}",
        *([_money([each.cost for each in tasks])] if priced else []),
        *(["–" if None in most else _money([task.most_cost for task in tasks])] if priced else []),
    ]


def _money(amounts: list[float | None]) -> str:
    if not amounts:
        return "–"
    if None in amounts:
        return "unknown"
    return amount_of(sum(amount or 0.0 for amount in amounts))
