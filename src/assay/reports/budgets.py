"""Puts a run's budget together: its limits, the model's price, and what earlier sessions have used."""

from __future__ import annotations

from pathlib import Path

from assay.core.config import RunConfig
from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.models.budget import Budget
from assay.reports.prices import Quote, find_prices
from assay.reports.spending import spent_in


def price_for(model: str, config: RunConfig) -> Quote | None:
    """The model's price; `--max-cost` needs one."""
    quote = find_prices(Path(config.prices) if config.prices else None).quote(model)
    if config.max_cost is not None and quote is None:
        raise UsageError(
            f"--max-cost needs the price of `{model}`: add it to prices.yaml, in money per million tokens, "
            "or limit the run with --max-tokens"
        )
    return quote


def make_budget(journal: Path, config: RunConfig, quote: Quote | None, stop: Stop) -> Budget:
    """The run's budget, with what its earlier sessions have used."""
    budget = Budget(
        stop,
        max_tokens=config.max_total_tokens,
        max_cost=config.max_cost,
        price=quote.price.of if quote is not None else None,
        currency=quote.currency if quote is not None else "USD",
    )
    spent = spent_in(journal)
    paid = quote.price.of(spent.paid_in, spent.paid_out, spent.paid_from_server_cache) if quote is not None else 0.0
    budget.already(spent.paid_in + spent.paid_out, paid)
    return budget
