"""The canary: ten fixed prompts before the run, kept apart from its attempts, compared by `diff`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.end_to_end.commands import write_task
from tests.runs.served_runs import evaluate_served, with_server
from tests.servers.fake_openai import FakeServer

from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.journal import read_records
from assay.results.diff.comparison import diff
from assay.runs.canary import MAX_TOKENS, PROMPTS
from assay.runs.entry import evaluate


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return write_task(tmp_path / "sums.jsonl", {"compute: 1 + 1": "2"})


def test_the_answers_are_stored_with_the_run_and_are_no_attempts(task: Path, tmp_path: Path) -> None:
    async def work(server: FakeServer) -> None:
        board = await evaluate_served(task, server, tmp_path / "run", canary=True)
        [stretch] = board.stretches
        assert [each.prompt for each in stretch.canary] == list(PROMPTS)
        assert [each.answer for each in stretch.canary] == list(PROMPTS), "the fake repeats what it is asked"
        assert stretch.usage[0].answers == len(PROMPTS)
        assert board.tasks[0].total == len(list(read_records(tmp_path / "run" / "journal.jsonl"))) == 1
        asked = server.bodies[0]
        assert (asked["temperature"], asked["max_tokens"]) == (0.0, MAX_TOKENS)
        assert "temperature" not in server.bodies[-1], "the run's own requests are as they were"

    with_server(work)


@pytest.mark.parametrize("options", [{}, {"model_options": {"mode": "completions"}}], ids=["chat", "text"])
def test_diff_says_how_many_answers_agree(
    task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: dict[str, dict[str, str]]
) -> None:
    async def work(server: FakeServer) -> None:
        await evaluate_served(task, server, tmp_path / "a", canary=True, **options)
        server.answer = lambda prompt: "2" if "compute" in prompt else prompt.replace("grey", "black")
        await evaluate_served(task, server, tmp_path / "b", canary=True, **options)

    with_server(work)
    assert diff(tmp_path / "a", tmp_path / "b").canary == "canary: 9 of 10 answers agree"
    assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "canary: 9 of 10 answers agree" in capsys.readouterr().out


def test_a_canary_that_fails_is_reported_and_stops_nothing(
    task: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def model(prompt: str) -> str:
        if prompt in PROMPTS:
            raise ValueError("no such thing")
        return "2"

    board = evaluate(task, model, folder=tmp_path / "run", canary=True).leaderboard
    assert board.overall_score == 1.0
    assert all(each.answer is None and each.failure for each in board.stretches[0].canary)
    assert "canary: 10 prompts of 10 failed (" in caplog.text


def test_its_cost_counts(task: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("currency: USD\ndate: 2026-01-01\nmodels:\n  ollama:m: {input: 1000000, output: 0}\n")

    async def work(server: FakeServer) -> None:
        board = await evaluate_served(task, server, tmp_path / "run", canary=True, prices=str(prices))
        assert board.cost is not None
        assert board.cost.amount == 7 * (len(PROMPTS) + 1)
        assert "| canary  |        70 |" in (tmp_path / "run" / "report.md").read_text()
        stopped = await evaluate_served(
            task, server, tmp_path / "poor", canary=True, prices=str(prices), budget_cost=30.0
        )
        assert stopped.tasks[0].remaining == 1

    with_server(work)


def test_a_finished_run_without_a_canary_refuses_a_late_one(task: Path, tmp_path: Path) -> None:
    evaluate(task, "stub:2", folder=tmp_path / "run")
    with pytest.raises(UsageError, match=r"--canary: every attempt of .* is made"):
        evaluate(task, "stub:2", folder=tmp_path / "run", canary=True)


def test_a_finished_run_with_a_canary_is_not_asked_again(task: Path, tmp_path: Path) -> None:
    evaluate(task, "stub:2", folder=tmp_path / "run", canary=True)
    board = evaluate(task, "stub:2", folder=tmp_path / "run", canary=True).leaderboard
    assert len(board.stretches) == 1
