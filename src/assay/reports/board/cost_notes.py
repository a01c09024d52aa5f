"""What a board says about its money: whether there is any to show, which prices it is made of, why it is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from assay.costs.prices import BUNDLED
from assay.costs.spending import Cost, is_told
from assay.reports.board.types import Leaderboard, TaskRow


def costs_something(row: TaskRow) -> bool:
    """Whether there is a cost to tell: an amount, or tokens whose price nobody knows."""
    if row.cost is None:
        return False
    return bool(row.cost.amount) or (row.cost.amount is None and bool(row.tokens_in or row.tokens_out))


def price_notes(boards: Iterable[Leaderboard]) -> list[str]:
    """Which prices the money is made of, how old they are, and what to do about it; why a cost is unknown."""
    costs: list[Cost] = []
    for board in boards:
        if board.cost is not None and any(costs_something(row) for row in board.tasks):
            costs.append(board.cost)
        if board.judge_cost is not None and is_told(board.judge_cost):
            costs.append(board.judge_cost)
    sources = dict.fromkeys((cost.source, cost.date) for cost in costs if cost.source and cost.amount)
    said = [
        f"cost: {source}, dated {date}"
        + ("; vendors change them: copy them to prices.yaml, edit, and date it" if source == BUNDLED else "")
        for source, date in sources
    ]
    return [*said, *dict.fromkeys(f"cost: {cost.reason}" for cost in costs if cost.reason)]
