"""What a suite inside a run may spend, what was spent for its tasks, and why nothing more of them is begun."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from time import monotonic

from assay.core.types import Record, Usage
from assay.costs.budget import used_by
from assay.costs.prices import Quotes
from assay.costs.spending import Spending, add_paid, money_of, spent_in
from assay.run_config import PartBudget


class PartSpending:
    """One such suite: what it may spend, what was spent, and why it ended."""

    def __init__(self, limits: PartBudget, model: str, quotes: Quotes, share: int) -> None:
        self._limits, self._model, self._quotes, self._share = limits, model, quotes, share
        self.tasks = frozenset(limits.tasks)
        self.ended: str | None = None
        self._tokens, self._money = 0, 0.0
        self._begun = self._made = self._answers = 0
        self._since: float | None = None

    def add_earlier(self, journals: Iterable[Path], generation: Iterable[Usage]) -> None:
        """What earlier sessions have used for its tasks, and the writing of their samples."""
        self._tokens, self._money, _ = used_by(generation, self._quotes)
        for journal in journals:
            spent, judges = spent_in(journal, self.tasks)
            self._add(spent, judges)
            self._answers += spent.answers - spent.cached

    def may_begin(self) -> bool:
        """Whether it has enough for one attempt more, in addition to those in flight."""
        if self._since is None:
            self._since = monotonic()
        self._check()
        return self.ended is None

    def begin(self) -> None:
        self._begun += 1

    def finish(self, record: Record) -> None:
        spent, judges = Spending(), dict[str, Spending]()
        add_paid(record, spent, judges)
        self._add(spent, judges)
        self._made += 1

    def _add(self, spent: Spending, judges: Mapping[str, Spending]) -> None:
        for name, each in ((self._model, spent), *judges.items()):
            self._tokens += each.tokens_paid
            self._money += money_of(each, self._quotes.get(name))

    def _check(self) -> None:
        limits = self._limits
        made = self._made + self._answers
        likely = 1 + (1 + self._begun - self._made) / made if made else 1.0
        currency = next((quote.currency for quote in self._quotes.values() if quote is not None), "USD")
        minutes = (monotonic() - (self._since or 0.0)) / 60
        for spent, limit, unit in (
            (self._tokens * likely, limits.tokens and limits.tokens / self._share, "tokens"),
            (self._money * likely, limits.cost and limits.cost / self._share, currency),
            (minutes, limits.minutes, "minutes"),
        ):
            if self.ended is None and limit is not None and spent >= limit:
                self.ended = f"the budget of {limit:,g} {unit} of @{limits.suite} is used up"
