"""Tokens and money: what a run has used, counted completion by completion, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from assay.core.journal import counting_lines
from assay.core.types import Usage
from assay.core.usage import about_tokens
from assay.reports.board import Cost, JudgeRow, Leaderboard, TaskRow
from assay.reports.prices import BUNDLED, Prices, Quote


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


SUMS = (
    *("answers", "tokens_in", "tokens_out", "paid_in", "paid_out", "paid_from_server_cache"),
    *("cached", "unknown", "guessed_in", "guessed_out"),
)


@dataclass(slots=True)
class Spending:
    """Sums over completions."""

    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    paid_in: int = 0
    """Without answers that came from assay's own cache: those were paid for before."""
    paid_out: int = 0
    paid_from_server_cache: int = 0
    cached: int = 0
    unknown: int = 0
    """Paid answers whose tokens the model did not count."""
    guessed_in: int = 0
    """The tokens of those, by the rough rule, where a budget asks for them."""
    guessed_out: int = 0

    @property
    def tokens_paid(self) -> int:
        return self.paid_in + self.paid_out + self.guessed_in + self.guessed_out

    def add(self, completions: Iterable[Counted]) -> None:
        for each in completions:
            self.answers += 1
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

    def add_usage(self, usage: Usage) -> None:
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(usage, name))


def judge_rows(judges: Mapping[str, Spending], prices: Prices) -> list[JudgeRow]:
    """What each judge used, at its own price."""
    return [JudgeRow(**_used(name, spent, prices)) for name, spent in sorted(judges.items())]


class Spent(JudgeRow, frozen=True, kw_only=True):
    """What one model used in one role, apart from any task."""

    role: str
    """`judge`, `proposer` or `task model`."""
    cost: Cost


def spent_by(usages: Iterable[tuple[str, Usage]], prices: Prices) -> list[Spent]:
    """Usages, each with the role its model had, as one row per role and model."""
    sums: dict[tuple[str, str], Spending] = {}
    for role, usage in usages:
        sums.setdefault((role, usage.model), Spending()).add_usage(usage)
    return spent_rows(sums, prices)


def spent_rows(sums: Mapping[tuple[str, str], Spending], prices: Prices) -> list[Spent]:
    """Sums by role and model, at the models' prices."""
    return [Spent(role=role, **_used(model, spent, prices)) for (role, model), spent in sums.items()]


def _used(model: str, spent: Spending, prices: Prices) -> dict[str, Any]:
    return {
        "model": model,
        "answers": spent.answers,
        "cached": spent.cached,
        "tokens_in": spent.tokens_in,
        "tokens_out": spent.tokens_out,
        "tokens_unknown": spent.unknown,
        "cost": cost_of(spent, prices.quote(model), model),
    }


def spent_in_words(rows: Sequence[Spent]) -> list[str]:
    """A line for every model, one for all of them where there are several, and why a cost is not known."""
    said = [f"{row.role} {row.model}: {_answers(row)}, {_tokens(row)}, cost {money(row.cost)}" for row in rows]
    if len(rows) > 1:
        said.append(f"cost in all: {money(total_cost([row.cost for row in rows]))}")
    return [*said, *dict.fromkeys(f"cost: {row.cost.reason}" for row in rows if row.cost.reason)]


def _answers(row: Spent) -> str:
    return "1 answer" if row.answers == 1 else f"{row.answers:,} answers"


def _tokens(row: Spent) -> str:
    if row.tokens_unknown and not (row.tokens_in or row.tokens_out):
        return "tokens not counted"
    return f"{row.tokens_in:,} tokens in, {row.tokens_out:,} out"


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
    """The sum, over tasks or models; unknown as soon as one is."""
    if not costs:
        return None
    unknown = next((each for each in costs if each.amount is None), None)
    if unknown is not None:
        return unknown
    currencies = sorted({each.currency for each in costs})
    if len(currencies) > 1:
        return Cost(amount=None, reason=f"prices are in {' and '.join(currencies)}, which do not add up")
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
    if cost is None:
        return "–"
    if cost.amount is None:
        return "unknown"
    sign = "$" if cost.currency == "USD" else f"{cost.currency} "
    least = "≥ " if cost.reason else ""
    amount = f"{cost.amount:,.2f}" if cost.amount >= 1 or cost.amount == 0 else f"{cost.amount:.4g}"
    return f"{least}{sign}{amount}"


def costs_something(row: TaskRow) -> bool:
    """Whether there is a cost to tell: an amount, or tokens whose price nobody knows."""
    if row.cost is None:
        return False
    return bool(row.cost.amount) or (row.cost.amount is None and bool(row.tokens_in or row.tokens_out))


def is_told(cost: Cost | None) -> bool:
    """Whether a column is worth its place: there is an amount, or one that nobody knows."""
    return cost is not None and cost.amount != 0


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


class _Completion(Struct):
    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cached: bool = False


class _Message(Struct):
    content: Any = ""


class _Trace(Struct):
    prompt: str | None = None
    messages: list[_Message] | None = None
    completions: list[_Completion] = []


class _Line(Struct):
    key: str
    failures: list[Any] = []
    trace: _Trace | None = None
    usage: list[Usage] = []


def spent_in(journal: Path) -> tuple[Spending, dict[str, Spending]]:
    """Everything a journal holds, attempts that were made again included: of the model, and of each judge."""
    spent, judges = Spending(), dict[str, Spending]()

    def add(line: _Line) -> None:
        if line.trace is not None:
            spent.add(line.trace.completions)
            _guess(spent, line.trace)
        for usage in line.usage:
            (judges.setdefault(usage.model, Spending()) if usage.judge else spent).add_usage(usage)

    for _, line in counting_lines(journal, _Line, add):
        if not line.failures:
            add(line)
    return spent, judges


def _guess(spent: Spending, trace: _Trace) -> None:
    """By the rough rule, the tokens of answers that nobody counted."""
    paid = [each for each in trace.completions if not each.cached]
    uncounted = [each for each in paid if each.tokens_in is None and each.tokens_out is None]
    if uncounted:
        asked = trace.prompt or "\n\n".join(str(message.content) for message in trace.messages or [])
        spent.guessed_in += about_tokens(asked) * len(uncounted)
        spent.guessed_out += sum(about_tokens(each.text) for each in uncounted)
