"""Puts a run's budget together: its limits, the price of every model, and what earlier sessions have used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.seams import Model
from assay.models.budget import Budget, Budgeted, Judging, Price
from assay.reports.prices import Quote, find_prices
from assay.reports.spending import Spending, spent_in

Quotes = dict[str, Quote | None]
"""Prices by the models' names."""


def prices_for(names: Sequence[str], config: RunConfig) -> Quotes:
    """The price of every model of the run; `--max-cost` needs all of them, in one currency."""
    prices = find_prices(Path(config.prices) if config.prices else None)
    quotes = {name: prices.quote(name) for name in names}
    if config.max_cost is None:
        return quotes
    unknown = next((name for name, quote in quotes.items() if quote is None), None)
    if unknown is not None:
        raise UsageError(
            f"--max-cost needs the price of `{unknown}`: add it to prices.yaml, in money per million tokens, "
            "or limit the run with --max-tokens"
        )
    currencies = sorted({quote.currency for quote in quotes.values() if quote is not None})
    if len(currencies) > 1:
        raise UsageError(f"--max-cost needs all prices in one currency; there are {' and '.join(currencies)}")
    return quotes


def has_budget(config: RunConfig) -> bool:
    return config.max_cost is not None or config.max_total_tokens is not None


def make_budget(quotes: Quotes, config: RunConfig, stop: Stop) -> Budget:
    """The run's budget, with nothing spent."""
    known = [quote for quote in quotes.values() if quote is not None]
    currency = known[0].currency if known else "USD"
    return Budget(stop, max_tokens=config.max_total_tokens, max_cost=config.max_cost, currency=currency)


def spent_before(model: str, quotes: Quotes, journals: Iterable[Path]) -> tuple[int, float, int]:
    """Tokens and money that the attempts in these journals have used, and the paid answers of whom they asked most."""
    tokens, money, answers = 0, 0.0, 0
    for journal in journals:
        spent, by_judge = spent_in(journal)
        used = [(model, spent), *by_judge.items()]
        tokens += sum(each.tokens_paid for _, each in used)
        money += sum(money_of(each, quotes.get(name)) for name, each in used)
        answers += max(each.answers - each.cached for _, each in used)
    return tokens, money, answers


def budgeted(model: Model, judges: Sequence[Judging], quotes: Quotes, budget: Budget) -> Model:
    """The model, and its judges with it, within a budget."""
    for judge in judges:
        judge.spend_from(budget, _price(quotes, judge.name))
    return Budgeted(model, budget, _price(quotes, model.name))


def _price(quotes: Quotes, name: str) -> Price | None:
    quote = quotes.get(name)
    return quote.price.of if quote is not None else None


def money_of(spent: Spending, quote: Quote | None) -> float:
    """Money for what was spent, tokens that nobody counted by the rough rule; nothing where no price is known."""
    if quote is None:
        return 0.0
    return quote.price.of(
        spent.paid_in + spent.guessed_in, spent.paid_out + spent.guessed_out, spent.paid_from_server_cache
    )
