"""What a board says about money: which prices, how old, and why an amount is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.results.board.scripted_boards import board_of

from assay.costs.prices import BUNDLED
from assay.costs.spending import Cost
from assay.results.board.board_types import Leaderboard
from assay.results.board.cost_notes import costs_something, price_notes

OURS = Cost(amount=1.0, source=BUNDLED, date="2026-01-02")
UNKNOWN = Cost(amount=None, reason="no price is known for `m`; add it to prices.yaml")


def board(tmp_path: Path, cost: Cost | None, judge: Cost | None = None, **row: Any) -> Leaderboard:
    made = board_of(tmp_path, {"t": [[1.0]]})
    task = msgspec.structs.replace(made.tasks[0], cost=cost, **row)
    return msgspec.structs.replace(made, tasks=[task], cost=cost, judge_cost=judge)


@pytest.mark.parametrize(
    ("cost", "tokens", "told"),
    [(OURS, 0, True), (UNKNOWN, 5, True), (UNKNOWN, 0, False), (Cost(amount=0.0), 5, False), (None, 5, False)],
)
def test_an_unknown_cost_is_noted_and_no_cost_is_not(
    tmp_path: Path, cost: Cost | None, tokens: int, told: bool
) -> None:
    assert costs_something(board(tmp_path, cost, tokens_in=tokens).tasks[0]) is told


def test_prices_are_named_once_with_their_date_and_what_to_do(tmp_path: Path) -> None:
    mine = Cost(amount=2.0, source="prices.yaml", date="2026-03-04")
    notes = price_notes([board(tmp_path, OURS), board(tmp_path, OURS, judge=mine)])
    assert notes == [
        f"cost: {BUNDLED}, dated 2026-01-02; vendors change them: copy them to prices.yaml, edit, and date it",
        "cost: prices.yaml, dated 2026-03-04",
    ]


def test_an_unknown_cost_says_why_once(tmp_path: Path) -> None:
    assert price_notes([board(tmp_path, UNKNOWN, judge=UNKNOWN, tokens_out=3)]) == [f"cost: {UNKNOWN.reason}"]
