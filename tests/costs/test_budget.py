"""A budget ends a run cleanly, what was answered is kept, and a larger budget goes on from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.results.runs import number, write_sums
from tests.runs.shard_runs import run_shard

from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.core.types import Completion, Request
from assay.core.usage import about_tokens
from assay.run_config import RunConfig
from assay.runs.evaluate import RunResult, run_evaluation
from assay.runs.shards import ShardCounts
from assay.tasks.load import load_tasks


class Meter:
    """Every answer is ten tokens in and ten out, those after a while none out; counts how often it is called."""

    name = "metered"

    def __init__(self, *, counts: bool = True, short_from: int = 1000) -> None:
        self.asked = 0
        self._counts = counts
        self._short_from = short_from

    async def generate(self, request: Request) -> Completion:
        self.asked += 1
        text = str(number(request.text()) + 1)
        tokens_out = 10 if self.asked < self._short_from else 0
        return Completion(text=text, tokens_in=10, tokens_out=tokens_out) if self._counts else Completion(text=text)


def run(tmp_path: Path, model: Meter, **changes: object) -> RunResult:
    tasks = tmp_path / "sums.jsonl"
    if not tasks.exists():
        write_sums(tmp_path, "sums", 100)
    config = RunConfig(**{"concurrency": 4, **changes})  # type: ignore[arg-type]
    return run_evaluation(load_tasks([str(tasks)]), config, model=model, folder=tmp_path / "run")


def test_a_budget_of_tokens_stops_the_run_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    model = Meter()
    first = run(tmp_path, model, budget_tokens=400)
    row = first.leaderboard.tasks[0]
    assert first.stopped == "the budget of 400 tokens (--budget-tokens) is used up"
    assert not first.interrupted
    assert (row.failed, row.scored) == (0, model.asked)
    # twenty answers fit; what was in flight when the first answers came may come on top
    assert 20 <= model.asked <= 20 + 4

    again = run(tmp_path, model, budget_tokens=400)
    assert again.stopped is not None
    assert again.leaderboard.tasks[0].scored == row.scored

    rest = run(tmp_path, model, budget_tokens=100_000)
    assert rest.stopped is None
    assert rest.leaderboard.complete
    assert model.asked == 100
    assert len({record.key for record in read_records(tmp_path / "run" / "journal.jsonl")}) == 100


def test_a_budget_of_money_needs_a_price(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--budget-cost needs the price of `metered`"):
        run(tmp_path, Meter(), budget_cost=1.0)
    assert not (tmp_path / "run").exists()


def test_a_budget_of_money_stops_the_run(tmp_path: Path) -> None:
    prices = tmp_path / "mine.yaml"
    prices.write_text("date: 2026-01-01\ncurrency: EUR\nmodels: {metered: {input: 1000, output: 4000}}\n")
    model = Meter()
    found = run(tmp_path, model, budget_cost=1.0, prices=str(prices))
    assert found.stopped == "the budget of 1 EUR (--budget-cost) is used up"
    # five hundredths an answer
    assert 20 <= model.asked <= 24
    assert found.leaderboard.cost is not None
    assert found.leaderboard.cost.amount == pytest.approx(0.05 * model.asked)


def test_a_model_that_does_not_count_is_counted_for(tmp_path: Path) -> None:
    model = Meter(counts=False)
    found = run(tmp_path, model, budget_tokens=100)
    assert found.stopped is not None
    assert model.asked < 40


def test_a_budget_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    found = run(tmp_path, Meter(), budget_tokens=10_000_000)
    assert (found.stopped, found.leaderboard.complete) == (None, True)


def test_tokens_are_about_a_quarter_of_the_characters() -> None:
    assert [about_tokens(text) for text in ("", "abcd", "abcde")] == [1, 1, 2]


def test_earlier_requests_to_an_uncounting_model_count_in_the_next_session(tmp_path: Path) -> None:
    model = Meter(counts=False)
    run(tmp_path, model, budget_tokens=100)
    before = model.asked
    again = run(tmp_path, model, budget_tokens=100)
    assert again.stopped is not None
    assert model.asked == before


def test_a_rest_too_small_for_one_answer_begins_nothing_however_many_fit_in_flight(tmp_path: Path) -> None:
    model = Meter(short_from=20)
    run(tmp_path, model, budget_tokens=400, concurrency=1)
    assert model.asked == 20  # of the 400 tokens they took 390

    again = run(tmp_path, model, budget_tokens=400, concurrency=16)
    assert again.stopped == "the budget of 400 tokens (--budget-tokens) is used up"
    assert model.asked == 20


def test_a_rest_that_is_enough_for_some_begins_no_more_than_those(tmp_path: Path) -> None:
    model = Meter()
    run(tmp_path, model, budget_tokens=400, concurrency=1)
    run(tmp_path, model, budget_tokens=460, concurrency=16)
    assert model.asked == 23


def test_a_shard_keeps_to_its_share_of_the_budget_and_resumes_with_a_larger_one(tmp_path: Path) -> None:
    write_sums(tmp_path, "sums", 100)
    definitions = load_tasks([str(tmp_path / "sums.jsonl")])

    def shard(tokens: int) -> ShardCounts:
        config = RunConfig(concurrency=2, budget_tokens=tokens)
        return run_shard(definitions, config, number=1, count=2, folder=tmp_path / "run").counts

    first = shard(400)
    assert first.stopped is not None
    assert not first.interrupted
    assert 0 < first.finished < first.planned == 50
    assert shard(400).finished == first.finished  # what the first session used counts
    rest = shard(1_000_000)
    assert (rest.stopped, rest.finished) == (None, 50)
