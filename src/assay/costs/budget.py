"""A budget: how many tokens, or how much money, a run or search may use. When it is used up, nothing new is begun.

What is in flight is finished and kept, so a run can overshoot by that much; the next one to be begun is held back as
soon as what was spent, and what the answers in flight are likely to add, would reach the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from assay.core.draws import numbered
from assay.core.errors import UsageError
from assay.core.model_stack import Wrapper
from assay.core.run import Stop
from assay.core.seams import Model, offers_of
from assay.core.types import Completion, Request, Usage
from assay.core.usage import about_tokens, note
from assay.costs.prices import Price, Quotes, find_prices, without_label
from assay.costs.spending import Spending, Spent, money_of, spent_in, spent_rows
from assay.overriding import override
from assay.run_config import RunConfig
from assay.text.printable import one_line


class SpendingLimits(Struct, frozen=True, kw_only=True):
    """What may be spent in all; None where nothing limits it."""

    budget_tokens: float | None = None
    budget_cost: float | None = None
    prices: str | None = None
    """The price file, if one is named."""

    @classmethod
    def of(cls, config: RunConfig) -> SpendingLimits:
        return cls(budget_tokens=config.budget_tokens, budget_cost=config.budget_cost, prices=config.prices)

    def __bool__(self) -> bool:
        return self.budget_cost is not None or self.budget_tokens is not None

    def shared_by(self, count: int) -> SpendingLimits:
        """One share of so many."""
        tokens, cost = self.budget_tokens, self.budget_cost
        return SpendingLimits(
            budget_tokens=tokens and tokens / count, budget_cost=cost and cost / count, prices=self.prices
        )


def prices_for(names: Iterable[str], limits: SpendingLimits, limited_by: str = "--budget-cost") -> Quotes:
    """The price of every model; a limit of money needs all of them, in one currency."""
    prices = find_prices(Path(limits.prices) if limits.prices else None)
    quotes = {name: prices.quote(name) for name in names}
    if limits.budget_cost is None:
        return quotes
    unknown = next((name for name, quote in quotes.items() if quote is None), None)
    if unknown is not None:
        raise UsageError(
            f"{limited_by} needs the price of `{without_label(unknown)}`: add it to prices.yaml, in money per million "
            "tokens, or limit the run with --budget-tokens"
        )
    currencies = sorted({quote.currency for quote in quotes.values() if quote is not None})
    if len(currencies) > 1:
        raise UsageError(f"{limited_by} needs all prices in one currency; there are {' and '.join(currencies)}")
    return quotes


def unbilled(models: Iterable[Model]) -> tuple[str, ...]:
    """The names of those that no vendor bills: they are not called over a network, or at an address of the user's."""
    offered = {model.name: offers_of(model) for model in models}
    return tuple(name for name, offers in offered.items() if not (offers.remote and offers.cacheable))


class Budget:
    """What may be spent, what was spent, and the sentence that ends the run."""

    def __init__(self, limits: SpendingLimits, quotes: Quotes, stop: Stop) -> None:
        self.stop = stop
        """What to end when the budget is used up; a worker has another one for each of its shards."""
        self.limits = limits
        """A worker is lent a run's budget in pieces: its height may change."""
        self._quotes = quotes
        self.tokens = 0
        self.cost = 0.0
        self._in_flight = 0
        self._answers: dict[str, int] = {}
        self._answers_before = 0

    def around(self, model: Model, judges: Iterable[CountedAsJudge]) -> Model:
        """The model within this budget, and its judges with it."""
        for judge in judges:
            judge.spend_from(self)
        return Budgeted(model, self)

    def price(self, model: str) -> Price | None:
        quote = self._quotes.get(model)
        return quote.price if quote is not None else None

    def add_earlier(self, model: str, journals: Iterable[Path], generation: Iterable[Usage] = ()) -> None:
        """What the attempts in these journals have used, and what the generation of samples did; see `already`."""
        tokens, money, answers = used_by(generation, self._quotes)
        for journal in journals:
            spent, by_judge = spent_in(journal)
            used = [(model, spent), *by_judge.items()]
            tokens += sum(each.tokens_paid for _, each in used)
            money += sum(money_of(each, self._quotes.get(name)) for name, each in used)
            answers += max(each.answers - each.cached for _, each in used)
        self.already(tokens, money, answers)

    def already(self, tokens: int, cost: float, answers: int) -> None:
        """What earlier sessions of the same run used, and for how many answers of the model that was called most.

        What is left is used up when it is not enough for one answer more.
        """
        self.tokens, self.cost, self._answers_before = tokens, cost, answers
        self._check(likely_answers=1)

    def begin(self) -> None:
        self._in_flight += 1
        self._check(likely_answers=self._in_flight)

    def end(self, model: str, request: Request, completion: Completion | None, price: Price | None) -> None:
        self._in_flight -= 1
        if completion is not None and not completion.cached:
            tokens_in, tokens_out = tokens_of(request, completion)
            self.tokens += tokens_in + tokens_out
            if price is not None:
                self.cost += price.of(tokens_in, tokens_out, completion.tokens_cached or 0)
            self._answers[model] = self._answers.get(model, 0) + 1
        self._check(likely_answers=self._in_flight)

    def _check(self, *, likely_answers: int) -> None:
        if self.stop.requested:
            return
        limits: tuple[tuple[float, float | None, str], ...] = (
            (self.tokens, self.limits.budget_tokens, "--budget-tokens"),
            (self.cost, self.limits.budget_cost, "--budget-cost"),
        )
        # what an attempt costs in all, its judges included, is known per answer of the model that is called most
        attempts = self._answers_before + max(self._answers.values(), default=0)
        for spent, limit, flag in limits:
            likely = likely_answers * spent / attempts if attempts else 0.0
            if limit is not None and spent + likely >= limit:
                currency = next((quote.currency for quote in self._quotes.values() if quote is not None), "USD")
                unit = "tokens" if flag == "--budget-tokens" else currency
                self.stop.end(f"the budget of {limit:,g} {unit} ({flag}) is used up")
                return


class Budgeted(Wrapper):
    """Counts every answer against a budget, at the model's own price; answers from the cache are free."""

    def __init__(self, model: Model, budget: Budget, name: str | None = None) -> None:
        super().__init__(model)
        self.name = name or model.name
        self._budget = budget
        self._price = budget.price(self.name)

    @override
    async def generate(self, request: Request) -> Completion:
        self._budget.begin()
        completion: Completion | None = None
        try:
            completion = await self.model.generate(request)
        finally:
            self._budget.end(self.name, request, completion, self._price)
        return completion


class CountedAsJudge(Wrapper):
    """A model other than the evaluated one: its answers count for the attempt and for the budget, if there is one.

    Judges are built with their tasks, before a run knows its budget. `name` is the model's, with what distinguishes it
    from others: `openai:served (The Judge)`.
    """

    def __init__(self, model: Model, *, key: str = "", label: str | None = None) -> None:
        super().__init__(model)
        self._asked = model
        self._key, self._label = key, label

    def rename(self, *, alone: bool) -> None:
        """Give it its label; without one its key, unless no other judge is the same model by name."""
        name, shown = self.model.name, self._label or ("" if alone else self._key)
        self.name = f"{name} ({one_line(shown, 80)})" if shown and not name.endswith(f":{shown}") else name

    def spend_from(self, budget: Budget) -> None:
        self._asked = Budgeted(self.model, budget, self.name)

    @override
    async def generate(self, request: Request) -> Completion:
        request = numbered(self, request)
        completion = await self._asked.generate(request)
        note(self.name, request, completion, judge=True)
        return completion


def keep_to_budget(models: Iterable[CountedAsJudge], limits: SpendingLimits, stop: Stop, used: Iterable[Usage]) -> None:
    """Let models outside a run spend no more than this in all, less what they have used already."""
    models = list(models)
    quotes = prices_for([model.name for model in models], limits)
    budget = Budget(limits, quotes, stop)
    budget.already(*used_by(used, quotes))
    for model in models:
        model.spend_from(budget)


def used_by(usages: Iterable[Usage], quotes: Quotes) -> tuple[int, float, int]:
    """Tokens and money of usages, and the answers that they paid for."""
    tokens, money, answers = 0, 0.0, 0
    for usage in usages:
        spent = Spending()
        spent.add_usage(usage)
        tokens += spent.tokens_paid
        money += money_of(spent, quotes.get(usage.model))
        answers += spent.answers - spent.cached
    return tokens, money, answers


class SearchBudget:
    """Looked into before a search begins anything new; `spent` is what its journal holds, by role and model."""

    def __init__(
        self, limits: SpendingLimits, models: Sequence[Model], spent: Mapping[tuple[str, str], Spending]
    ) -> None:
        self._spent = spent
        self._prices = find_prices(Path(limits.prices) if limits.prices else None).where_unbilled(unbilled(models))
        self._stop = Stop()
        self._budget = Budget(limits, prices_for([model.name for model in models], limits), self._stop)

    @property
    def used_up(self) -> str | None:
        """Why nothing new may be begun; None when something may."""
        if not self._budget.limits:
            return None
        used = self._spent
        self._budget.already(
            sum(item.tokens_paid for item in used.values()),
            sum((money_of(each, self._prices.quote(name)) for (_, name), each in used.items()), 0.0),
            max((item.answers - item.cached for item in used.values()), default=0),
        )
        return self._stop.reason

    def cost_of(self, usages: Sequence[Usage]) -> float | None:
        """What an answer cost; None where no model was called, or the price of one is unknown."""
        total = 0.0
        for usage in usages:
            spending = Spending()
            spending.add_usage(usage)
            quote = self._prices.quote(usage.model)
            if quote is None:
                return None
            total += money_of(spending, quote)
        return total if usages else None

    def spent(self) -> list[Spent]:
        """What every model used so far, at its own price."""
        return spent_rows(self._spent, self._prices)


def tokens_of(request: Request, completion: Completion) -> tuple[int, int]:
    """Tokens in and out as the model counted them, else by the rough rule."""
    tokens_in, tokens_out = completion.tokens_in, completion.tokens_out
    if tokens_in is None and tokens_out is None:
        return about_tokens(request.text()), about_tokens(completion.text)
    return tokens_in or 0, tokens_out or 0
