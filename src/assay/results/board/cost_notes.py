"""Notes on the cost in a leaderboard: whether there is any to show, which prices it uses, why it is unknown."""

from __future__ import annotations

from collections.abc import Iterable

from assay.costs.prices import BUNDLED, dated
from assay.costs.spending import Cost, is_worth_showing, reasons_together
from assay.results.board.board_types import Leaderboard, TaskRow


def costs_something(row: TaskRow) -> bool:
    """Whether there is a cost to show: an amount, or tokens whose price is unknown."""
    if row.cost is None:
        return False
    return bool(row.cost.amount) or (row.cost.amount is None and bool(row.tokens_in or row.tokens_out))


def price_notes(boards: Iterable[Leaderboard], others: Iterable[Cost] = ()) -> list[str]:
    """Which prices the cost uses, how old they are, and what to do about it; why a cost, or one of the `others`, is
    unknown.
    """
    costs: list[Cost] = []
    for board in boards:
        if board.cost is not None and any(costs_something(row) for row in board.tasks):
            costs.append(board.cost)
        if board.judge_cost is not None and is_worth_showing(board.judge_cost):
            costs.append(board.judge_cost)
    sources = dict.fromkeys((cost.source, cost.date) for cost in costs if cost.source and cost.amount)
    notes = [
        f"cost: {dated(source, date)}"
        + ("; vendors change them: copy them to prices.yaml, edit, and date it" if source == BUNDLED else "")
        for source, date in sources
    ]
    reasons = reasons_together(other.reason for other in (*costs, *others) if other.reason)
    return [*notes, *(f"cost: {reason}" for reason in reasons)]
