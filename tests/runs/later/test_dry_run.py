"""A dry run counts the requests of a run, knows what is done already, and calls no model."""

from __future__ import annotations

import json
from pathlib import Path

from tests.results.runs import run_into, write_sums

from assay.pages.documents.estimate import estimate_tables
from assay.pages.markdown import markdown
from assay.run_config import RunConfig
from assay.runs.later.dry_run import estimate
from assay.tasks.load import load_tasks


def test_requests_tokens_and_money_are_estimated(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 700)
    prices = tmp_path / "prices.yaml"
    prices.write_text('date: 2026-01-01\nmodels: {"openai:m": {input: 1000, output: 4000}}\n')
    config = RunConfig(model="openai:m", repeat=2, max_tokens=50, prices=str(prices))
    found = estimate(load_tasks([str(tasks)]), config, folder=tmp_path / "run")
    task = found.tasks[0]
    assert (task.attempts, task.remaining, task.requests, task.exact) == (1400, 1400, 1400, False)
    # "compute: 123 + 1" is 16 characters
    assert 4 * 1400 <= task.tokens_in <= 5 * 1400
    assert task.most_tokens_out == 50 * 1400
    assert task.cost is not None
    assert task.most_cost is not None
    assert task.cost < task.most_cost
    assert not (tmp_path / "run").exists()
    assert "1,400" in markdown(estimate_tables(found))


def test_a_longest_answer_that_the_task_sets_is_not_called_missing(tmp_path: Path) -> None:
    line = {"prompt": "compute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
    bounded = json.dumps({**line, "id": "a", "extras": {"generation": {"max_tokens": 20}}})
    (tmp_path / "bounded.jsonl").write_text(bounded)
    (tmp_path / "open.jsonl").write_text(json.dumps({**line, "id": "b"}))

    def notes(*names: str) -> str:
        tasks = load_tasks([str(tmp_path / f"{name}.jsonl") for name in names])
        return " ".join(estimate(tasks, RunConfig(), folder=tmp_path / "run").notes)

    assert "longest answer" not in notes("bounded")
    assert "no longest answer is set for open: with --max-tokens N" in notes("bounded", "open")


def test_the_system_message_and_the_prefill_are_read_with_every_request(tmp_path: Path) -> None:
    definitions = load_tasks([str(write_sums(tmp_path, "sums", 10))])
    plain, framed = (
        estimate(definitions, config, folder=tmp_path / "run").tasks[0].tokens_in
        for config in (RunConfig(model="echo"), RunConfig(model="echo", system="word " * 400, prefill="So: "))
    )
    assert framed - plain >= 10 * 400


def test_what_is_finished_is_not_counted_again(tmp_path: Path) -> None:
    tasks = write_sums(tmp_path, "sums", 10)

    def broken(prompt: str) -> str:
        if prompt == "compute: 3 + 1":
            raise ValueError
        return "1"

    run_into(tmp_path / "run", tasks, broken)
    task = estimate(load_tasks([str(tasks)]), RunConfig(), folder=tmp_path / "run").tasks[0]
    assert (task.attempts, task.remaining, task.requests, task.most_tokens_out) == (10, 1, 1, None)
    assert estimate(load_tasks([str(tasks)]), RunConfig(), folder=tmp_path / "run", fresh=True).tasks[0].remaining == 10


def test_the_canary_is_mentioned(tmp_path: Path) -> None:
    tasks = load_tasks([str(write_sums(tmp_path, "sums", 2))])
    assert "the canary adds 10 short requests" in estimate(tasks, RunConfig(canary=True), folder=tmp_path / "run").notes
