"""What was used and what it costs: nothing unknown is zero."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.journals import journal_lines

from assay.core.types import Completion, Usage
from assay.costs.prices import Price, PriceFile, Prices, find_prices
from assay.costs.spending import (
    Cost,
    Spending,
    cost_of,
    money,
    spent_by,
    spent_in,
    spent_in_words,
    total_cost,
)


def test_answers_from_our_own_cache_are_counted_but_not_paid() -> None:
    spent = Spending()
    spent.add([Completion(text="", tokens_in=10, tokens_out=5), Completion(text="", tokens_in=10, cached=True)])
    assert (spent.tokens_in, spent.answers, spent.cached) == (10, 2, 1)


def test_an_unknown_cost_says_why_and_is_never_zero(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("date: x\nmodels: {m: {input: 1, output: 1}, free: {input: 0, output: 0}}\n")
    prices = find_prices(folder=tmp_path)
    silent = Spending(unknown=3)
    unpriced, uncounted, free = (cost_of(silent, prices, model) for model in ("x", "m", "free"))
    assert unpriced == Cost(amount=None, reason="no price is known for `x`; add it to prices.yaml")
    assert uncounted is not None
    assert uncounted.reason == "the model does not say how many tokens it used"
    assert money(free) == "$0.00"
    assert money(cost_of(Spending(tokens_in=1_000_000, unknown=1), prices, "m")) == "≥ $1.00"
    known = cost_of(Spending(tokens_in=1000), prices, "m")
    assert money(known) == "$0.001"
    assert total_cost([known, unpriced]) == unpriced
    total = total_cost([known, known])
    assert total is not None
    assert total.amount == pytest.approx(0.002)


def test_a_model_that_no_vendor_bills_has_a_cost_only_where_the_price_file_has_its_price(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("models: {mine: {input: 1, output: 1}}\n")
    prices = find_prices(folder=tmp_path).where_unbilled(["mine", "served"])
    used = Spending(tokens_in=1_000_000)
    assert cost_of(used, prices, "served") is None
    mine = cost_of(used, prices, "mine")
    assert money(mine) == "$1.00"
    assert total_cost([None, mine]) == mine
    assert total_cost([None, None]) is None


def test_costs_in_two_currencies_do_not_add_up() -> None:
    total = total_cost([Cost(amount=1.0, currency="USD"), Cost(amount=1.0, currency="EUR")])
    assert total is not None
    assert (total.amount, total.reason) == (None, "prices are in EUR and USD, which do not add up")
    assert total_cost([]) is None


def test_a_lower_bound_stays_one_in_the_sum() -> None:
    total = total_cost([Cost(amount=1.0), Cost(amount=0.5, reason="a lower bound: 1 answers came without a count")])
    assert money(total) == "≥ $1.50"


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "–"),
        (Cost(amount=None), "unknown"),
        (Cost(amount=0.0), "$0.00"),
        (Cost(amount=1234.5, currency="EUR"), "EUR 1,234.50"),
        (Cost(amount=0.000012345), "$0.000012"),
    ],
)
def test_money_as_tables_show_it(cost: Cost | None, text: str) -> None:
    assert money(cost) == text


def test_every_session_of_a_journal_is_counted_and_uncounted_answers_by_the_rough_rule(tmp_path: Path) -> None:
    def line(key: str, **more: object) -> dict[str, object]:
        return {"key": key, "task": "t", "sample_id": key, "index": 0, **more}

    answer = {"prediction": "12345678", "prompt": "abcd", "completions": [{"text": "12345678"}]}
    counted = {"prediction": "x", "completions": [{"text": "x", "tokens_in": 7, "tokens_out": 3}]}
    failure = {"stage": "scorer", "kind": "exception", "message": "…"}
    judge = {"model": "judge", "answers": 2, "tokens_in": 20, "tokens_out": 4}
    journal = tmp_path / "journal.jsonl"
    retried = line("0a", trace=counted, failures=[failure])  # and paid twice
    journal.write_bytes(journal_lines([retried, line("0a", trace=counted, usage=[judge]), line("0b", trace=answer)]))
    spent, judges = spent_in(journal)
    assert (spent.tokens_in, spent.tokens_out, spent.unknown) == (14, 6, 1)
    assert (spent.guessed_in, spent.guessed_out) == (1, 2)
    assert (judges["judge"].answers, judges["judge"].tokens_paid) == (2, 24)


def test_models_are_listed_one_by_one_and_together() -> None:
    prices = Prices([("mine", PriceFile(date="2026", models={"a": Price(input=1, output=1)}))])
    rows = spent_by(
        [
            ("judge", Usage(model="a", answers=1, tokens_in=1_000_000)),
            ("proposer", Usage(model="b", answers=2, unknown=2)),
        ],
        prices,
    )
    assert spent_in_words(rows) == [
        "judge a: 1 answer, 1,000,000 tokens in, 0 out, cost $1.00",
        "proposer b: 2 answers, tokens not counted",
        "cost: no price is known for `b`; add it to prices.yaml",
    ]
