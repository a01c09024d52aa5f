"""Tokens and money: what a run has used, counted completion by completion, and what that costs."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from assay.core.journal import counting_lines
from assay.core.types import Record, TaskDefinition, Trace, Usage
from assay.core.usage import about_tokens
from assay.costs.prices import Prices, Quote, cost_at, without_label
from assay.text import numbers
from assay.text.wording import few


class Cost(Struct, frozen=True, kw_only=True):
    """What tokens cost, those of failed attempts and repeats included, answers from the cache not."""

    amount: float | None
    currency: str = "USD"
    reason: str | None = None
    """Why the amount is unknown, or why it is only a lower bound."""
    source: str | None = None
    """The price file."""
    date: str | None = None
    """Of the prices."""


class JudgeRow(Struct, frozen=True, kw_only=True):
    """Tokens and cost of one judge, or of another model that a task calls in addition to the evaluated one."""

    model: str
    answers: int
    cached: int
    """Answers from assay's own cache, which cost nothing."""
    tokens_in: int
    tokens_out: int
    tokens_unknown: int
    """Paid answers whose tokens the judge did not count."""
    cost: Cost | None = None


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

    @property
    def from_earlier_run(self) -> bool: ...


@dataclass(slots=True)
class Spending:
    """Sums over completions."""

    answers: int = 0
    tokens_in: int = 0
    """Without answers that came from assay's own cache: those were paid for before."""
    tokens_out: int = 0
    from_server_cache: int = 0
    cached: int = 0
    from_earlier_runs: int = 0
    """The cached ones that other runs put into the cache."""
    unknown: int = 0
    """Other answers whose tokens the model did not count."""
    guessed_in: int = 0
    """The tokens of those, by the rough rule, where a budget asks for them."""
    guessed_out: int = 0

    @property
    def tokens_paid(self) -> int:
        return self.tokens_in + self.tokens_out + self.guessed_in + self.guessed_out

    def add(self, completions: Iterable[Counted]) -> None:
        for completion in completions:
            self.answers += 1
            if completion.cached:
                self.cached += 1
                self.from_earlier_runs += completion.from_earlier_run
                continue
            self.unknown += completion.tokens_in is None and completion.tokens_out is None
            self.tokens_in += completion.tokens_in or 0
            self.tokens_out += completion.tokens_out or 0
            self.from_server_cache += completion.tokens_cached or 0

    def add_usage(self, usage: Usage) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(usage, name))


def summed(usages: Iterable[Usage]) -> list[Usage]:
    """One usage for each model."""
    sums: dict[str, Spending] = {}
    for usage in usages:
        sums.setdefault(usage.model, Spending()).add_usage(usage)
    return [Usage(model=model, **asdict(spent)) for model, spent in sums.items()]


def with_generation(judges: Mapping[str, Spending], definitions: Iterable[TaskDefinition]) -> dict[str, Spending]:
    """What other models used, with what they used to write samples."""
    spent_by_model = {name: replace(spent) for name, spent in judges.items()}
    for usage in (usage for definition in definitions for usage in definition.generation):
        spent_by_model.setdefault(usage.model, Spending()).add_usage(usage)
    return spent_by_model


class _HasCompletions(Protocol):
    @property
    def completions(self) -> Sequence[Counted]: ...


class Attempted(Protocol):
    """As much of a journal line as says what its attempt used."""

    @property
    def trace(self) -> _HasCompletions | None: ...

    @property
    def usage(self) -> Sequence[Usage]: ...


def add_attempt(attempt: Attempted, spent: Spending, judges: dict[str, Spending]) -> None:
    """Count what an attempt used: that of the evaluated model, and that of every judge by its name."""
    if attempt.trace is not None:
        spent.add(attempt.trace.completions)
    _add_usage(attempt.usage, spent, judges)


def _add_usage(usages: Iterable[Usage], spent: Spending, judges: dict[str, Spending]) -> None:
    for usage in usages:
        (judges.setdefault(usage.model, Spending()) if usage.judge else spent).add_usage(usage)


class JournalLine(Attempted, Protocol):
    """An `Attempted` that may continue an earlier line of its attempt."""

    @property
    def continued(self) -> bool: ...


def add_line(line: JournalLine, spent: Spending, judges: dict[str, Spending]) -> None:
    """Count what a line of the journal adds: the answer that it continues was counted with an earlier line."""
    if line.trace is not None and not line.continued:
        spent.add(line.trace.completions)
    _add_usage(line.usage, spent, judges)


def judge_rows(judges: Mapping[str, Spending], prices: Prices) -> list[JudgeRow]:
    """What each judge used, at its own price."""
    return [JudgeRow(**_used(name, spent, prices)) for name, spent in sorted(judges.items())]


class Spent(JudgeRow, frozen=True, kw_only=True):
    """What one model used in one role, apart from any task."""

    role: str
    """`judge`, `proposer` or `task model`."""


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
        "cost": cost_of(spent, prices, model),
    }


def spent_in_words(rows: Sequence[Spent]) -> list[str]:
    """A line for every model, one for all of them where there are several, and why a cost is not known."""
    lines = [f"{row.role} {row.model}: {_used_in_words(row)}{_paid(row.cost)}" for row in rows]
    total = total_cost(row.cost for row in rows)
    if len(rows) > 1 and total is not None and total.amount:
        lines.append(f"total cost: {money(total)}")
    reasons = [row.cost.reason for row in rows if row.cost is not None and row.cost.reason]
    return [*lines, *(f"cost: {why}" for why in reasons_together(reasons))]


def _paid(cost: Cost | None) -> str:
    return f", cost {money(cost)}" if cost is not None and cost.amount else ""


def _used_in_words(row: Spent) -> str:
    answers = f"{row.answers:,} answer{'' if row.answers == 1 else 's'}"
    if row.tokens_unknown and not (row.tokens_in or row.tokens_out):
        return f"{answers}, tokens not counted"
    return f"{answers}, {row.tokens_in:,} tokens in, {row.tokens_out:,} out"


def no_price(models: Sequence[str]) -> str:
    """Why the cost of these models is unknown, and what to do about it."""
    models = list(dict.fromkeys(map(without_label, models)))
    pronoun = "it" if len(models) == 1 else "them"
    return f"no price is known for {few([f'`{model}`' for model in models])}; add {pronoun} to prices.yaml"


def reasons_together(reasons: Iterable[str]) -> list[str]:
    """Each reason once, the models without a price in one sentence."""
    once = list(dict.fromkeys(reasons))
    unpriced = [match[1] for reason in once if (match := _NO_PRICE.fullmatch(reason))]
    others = [reason for reason in once if not _NO_PRICE.fullmatch(reason)]
    return [*others, *([no_price(unpriced)] if unpriced else [])]


_NO_PRICE = re.compile(r"no price is known for `(.+)`; add it to prices\.yaml")


def cost_of(spent: Spending, prices: Prices, model: str) -> Cost | None:
    """Money for what was spent; unknown, with a reason, where no price or no count is known; None where none is due."""
    quote = prices.quote(model)
    if quote is None:
        if not prices.is_billed(model):
            return None
        return Cost(amount=None, reason=no_price([model]))
    price = quote.price
    uncounted = 0 if price.is_free else spent.unknown
    if uncounted and not (spent.tokens_in or spent.tokens_out):
        unsaid = "the model does not say how many tokens it used"
        return Cost(amount=None, currency=quote.currency, reason=unsaid, source=quote.source, date=quote.date)
    reason = f"a lower bound: {uncounted:,} answers came without a count" if uncounted else None
    return Cost(
        amount=price.of(spent.tokens_in, spent.tokens_out, spent.from_server_cache),
        currency=quote.currency,
        reason=reason,
        source=quote.source,
        date=quote.date,
    )


def money_of(spent: Spending, quote: Quote | None) -> float:
    """Money for what was spent, with uncounted tokens estimated; 0 where no price is known."""
    tokens_in, tokens_out = spent.tokens_in + spent.guessed_in, spent.tokens_out + spent.guessed_out
    return cost_at(quote, tokens_in, tokens_out, spent.from_server_cache) or 0.0


def total_cost(some: Iterable[Cost | None]) -> Cost | None:
    """The sum, over tasks or models; unknown as soon as one is, None where no money is due."""
    costs = [cost for cost in some if cost is not None]
    if not costs:
        return None
    unknown = next((cost for cost in costs if cost.amount is None), None)
    if unknown is not None:
        return unknown
    currencies = sorted({cost.currency for cost in costs})
    if len(currencies) > 1:
        return Cost(amount=None, reason=f"prices are in {' and '.join(currencies)}, which do not add up")
    first = costs[0]
    return Cost(
        amount=sum(cost.amount or 0.0 for cost in costs),
        currency=first.currency,
        reason=next((cost.reason for cost in costs if cost.reason), None),
        source=first.source,
        date=first.date,
    )


def projected(cost: Cost, share: float) -> Cost:
    """What everything will cost when this share of it has cost so much."""
    return msgspec.structs.replace(cost, amount=None if cost.amount is None else cost.amount / share)


def money(cost: Cost | None) -> str:
    """An amount as tables show it."""
    if cost is None:
        return "–"
    if cost.amount is None:
        return "unknown"
    return f"{'≥ ' if cost.reason else ''}{numbers.amount(cost.amount, cost.currency)}"


def is_worth_showing(cost: Cost | None) -> bool:
    """Whether an amount is worth its place: it is above 0, or unknown."""
    return cost is not None and cost.amount != 0


class _Completion(Struct):
    text: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cached: bool = False
    from_earlier_run: bool = False


class _Message(Struct):
    content: Any = ""


class _Trace(Struct):
    prompt: str | None = None
    messages: list[_Message] | None = None
    completions: list[_Completion] = []


class _Line(Struct):
    key: str
    task: str = ""
    failures: list[Any] = []
    trace: _Trace | None = None
    usage: list[Usage] = []
    continued: bool = False


def spent_in(journal: Path, tasks: Container[str] | None = None) -> tuple[Spending, dict[str, Spending]]:
    """Everything a journal holds of these tasks, or of all, attempts that were retried included: of the model, and of
    each judge.
    """
    spent, judges = Spending(), dict[str, Spending]()

    def add(line: _Line) -> None:
        if tasks is None or line.task in tasks:
            add_paid(line, spent, judges)

    for _, line in counting_lines(journal, _Line, add):
        if not line.failures:
            add(line)
    return spent, judges


def add_paid(line: _Line | Record, spent: Spending, judges: dict[str, Spending]) -> None:
    """Count a line as a budget does: the tokens of answers that came without a count are guessed."""
    add_line(line, spent, judges)
    if line.trace is not None and not line.continued:
        _guess(spent, line.trace)


def _guess(spent: Spending, trace: _Trace | Trace) -> None:
    """Estimate the tokens of answers that came without a count."""
    paid = [completion for completion in trace.completions if not completion.cached]
    uncounted = [item for item in paid if item.tokens_in is None and item.tokens_out is None]
    if uncounted:
        prompt = trace.prompt or "\n\n".join(str(message.content) for message in trace.messages or [])
        spent.guessed_in += about_tokens(prompt) * len(uncounted)
        spent.guessed_out += sum(about_tokens(item.text) for item in uncounted)
