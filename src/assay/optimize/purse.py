"""What a search may spend, and what it has: counted from its journal, with every session and every failure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.core.config import RunConfig
from assay.core.run import Stop
from assay.optimize.journal import Journal
from assay.reports.budgets import make_budget, money_of, prices_for
from assay.reports.prices import find_prices
from assay.reports.spending import Spent, spent_rows


class Purse:
    """Looked into before anything new is begun. `models` are those whose price a limit of money needs."""

    def __init__(
        self,
        journal: Journal,
        models: Sequence[str],
        *,
        prices: str | None = None,
        max_cost: float | None = None,
        max_tokens: int | None = None,
    ) -> None:
        config = RunConfig(model="", prices=prices, max_cost=max_cost, max_total_tokens=max_tokens)
        self._journal = journal
        self._prices = find_prices(Path(prices) if prices else None)
        self._stop = Stop()
        self._budget = make_budget(prices_for(models, config), config, self._stop)

    @property
    def used_up(self) -> str | None:
        """Why nothing new may be begun; None when something may."""
        used = self._journal.spent
        self._budget.already(
            sum(each.tokens_paid for each in used.values()),
            sum((money_of(each, self._prices.quote(name)) for (_, name), each in used.items()), 0.0),
            max((each.answers - each.cached for each in used.values()), default=0),
        )
        return self._stop.reason

    def spent(self) -> list[Spent]:
        """What every model used so far, at its own price."""
        return spent_rows(self._journal.spent, self._prices)
