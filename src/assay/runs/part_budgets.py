"""Budgets of suites inside a run: where one is used up, nothing more of its tasks is begun, and the others go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from time import monotonic

from assay.core.run import Stop
from assay.core.seams import Executor, Work
from assay.core.types import Record, Usage
from assay.costs.budget import used_by
from assay.costs.prices import Quotes
from assay.costs.spending import Spending, add_paid, money_of, spent_in
from assay.run_config import PartBudget


class Part:
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
        """Whether it has enough for one attempt more, beside those in flight."""
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


class WithinParts:
    """Hands on the attempts of the parts that may still spend something, and of all that is in no part."""

    def __init__(self, executor: Executor, parts: Sequence[Part], stop: Stop, say: Callable[[str], object]) -> None:
        self._executor, self._parts, self._stop, self._say = executor, parts, stop, say

    async def run(
        self, make_attempt: Callable[[Work], Awaitable[Record]], work: Iterable[Work]
    ) -> AsyncIterator[list[Record]]:
        async with aclosing(self._executor.run(make_attempt, self._allowed(work))) as batches:  # type: ignore[type-var]
            async for records in batches:
                for record in records:
                    for part in self._of(record.task):
                        part.finish(record)
                yield records
        reasons = [part.ended for part in self._parts if part.ended is not None]
        if reasons and not self._stop.signals:  # a person who stopped the run is the reason that counts
            self._stop.end("; ".join(reasons))

    def _allowed(self, work: Iterable[Work]) -> Iterator[Work]:
        for item in work:
            parts = self._of(item.task.definition.name)
            before = {part.ended for part in parts}
            if all([part.may_begin() for part in parts]):  # noqa: C419 - each has a clock of its own
                for part in parts:
                    part.begin()
                yield item
            for reason in dict.fromkeys(part.ended for part in parts):
                if reason is not None and reason not in before:
                    self._say(f"{reason}; the other tasks go on")

    def _of(self, task: str) -> list[Part]:
        return [part for part in self._parts if task in part.tasks]
