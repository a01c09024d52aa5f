"""Tokens and money: what a run has used, counted completion by completion, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from assay.core.journal import read_lines
from assay.reports.board import Cost
from assay.reports.prices import Quote


class Counted(Protocol):
    """As much of a completion as counting needs."""

    @property
    def tokens_in(self) -> int | None: ...

    @property
    def tokens_out(self) -> int | None: ...

    @property
    def tokens_cached(self) -> int | None: ...

    @property
    def cached(self) -> bool: ...


@dataclass(slots=True)
class Spending:
    """Sums over completions."""

    tokens_in: int = 0
    tokens_out: int = 0
    paid_in: int = 0
    """Without answers that came from assay's own cache: those were paid for before."""
    paid_out: int = 0
    paid_from_server_cache: int = 0
    cached: int = 0
    unknown: int = 0
    """Paid answers whose tokens the model did not count."""

    def add(self, completions: Iterable[Counted]) -> None:
        for each in completions:
            if each.tokens_in is None and each.tokens_out is None:
                self.cached += each.cached
                self.unknown += not each.cached
                continue
            self.tokens_in += each.tokens_in or 0
            self.tokens_out += each.tokens_out or 0
            if each.cached:
                self.cached += 1
                continue
            self.paid_in += each.tokens_in or 0
            self.paid_out += each.tokens_out or 0
            self.paid_from_server_cache += each.tokens_cached or 0


def cost_of(spent: Spending, quote: Quote | None, model: str) -> Cost:
    """Money for what was spent; unknown, with a reason, where no price or no count is known."""
    if quote is None:
        return Cost(amount=None, reason=f"no price is known for `{model}`; add it to prices.yaml")
    price = quote.price
    free = not (price.input or price.output)
    if spent.unknown and not free and not (spent.paid_in or spent.paid_out):
        unsaid = "the model does not say how many tokens it used"
        return Cost(amount=None, currency=quote.currency, reason=unsaid, source=quote.source, date=quote.date)
    reason = f"a lower bound: {spent.unknown:,} answers came without a count" if spent.unknown and not free else None
    return Cost(
        amount=price.of(spent.paid_in, spent.paid_out, spent.paid_from_server_cache),
        currency=quote.currency,
        reason=reason,
        source=quote.source,
        date=quote.date,
    )


def total_cost(costs: list[Cost]) -> Cost | None:
    """The sum over tasks; unknown as soon as one is."""
    if not costs:
        return None
    unknown = next((each for each in costs if each.amount is None), None)
    if unknown is not None:
        return unknown
    first = costs[0]
    return Cost(
        amount=sum(each.amount or 0.0 for each in costs),
        currency=first.currency,
        reason=next((each.reason for each in costs if each.reason), None),
        source=first.source,
        date=first.date,
    )


def money(cost: Cost | None) -> str:
    """An amount as tables show it."""
    if cost is None or cost.amount is None:
        return "–"
    sign = "$" if cost.currency == "USD" else f"{cost.currency} "
    least = "≥ " if cost.reason else ""
    amount = f"{cost.amount:,.2f}" if cost.amount >= 1 or cost.amount == 0 else f"{cost.amount:.4g}"
    return f"{least}{sign}{amount}"


class _Completion(Struct):
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cached: bool = False


class _Trace(Struct):
    completions: list[_Completion] = []


class _Line(Struct):
    trace: _Trace | None = None


def spent_in(journal: Path) -> Spending:
    """Everything a journal holds, attempts that were made again included."""
    spent = Spending()
    for line in read_lines(journal, _Line) if journal.exists() else ():
        if line.trace is not None:
            spent.add(line.trace.completions)
    return spent
