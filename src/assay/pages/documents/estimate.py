"""The estimate of a run, as `--dry-run` shows it."""

from __future__ import annotations

from assay.costs.estimate import JudgeEstimate, RunEstimate, TaskEstimate
from assay.pages.document import Cell, Span, TextTable
from assay.text.numbers import MISSING
from assay.text.numbers import amount as amount_of


def estimate_tables(estimate: RunEstimate) -> list[TextTable]:
    priced = any(task.cost or (task.cost is None and estimate.is_billed(estimate.model)) for task in estimate.tasks)
    header = ["task", "attempts", "remaining", "requests", "tokens in", "tokens out", "at most"]
    header += ["cost", "at most"] if priced else []
    rows = [_row(task.task, [task], priced) for task in estimate.tasks]
    rows.append(_row(Span("run", "strong"), estimate.tasks, priced))
    judges = [(task.task, judge) for task in estimate.tasks for judge in task.judges]
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
    most = [estimate.most_tokens_out for estimate in tasks]
    return [
        name,
        f"{sum(task.attempts for task in tasks):,}",
        f"{sum(task.remaining for task in tasks):,}",
        f"{sum(task.requests for task in tasks):,}",
        f"{sum(task.tokens_in for task in tasks):,}",
        f"{sum(task.tokens_out for task in tasks):,}",
        "–" if None in most else f"{sum(item or 0 for item in most):,}",
        *([_money([task.cost for task in tasks])] if priced else []),
        *(["–" if None in most else _money([task.most_cost for task in tasks])] if priced else []),
    ]


def _money(amounts: list[float | None]) -> str:
    if not amounts:
        return "–"
    if None in amounts:
        return "unknown"
    return amount_of(sum(amount or 0.0 for amount in amounts))
