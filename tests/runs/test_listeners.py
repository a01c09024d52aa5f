"""Listeners hear of a run, are handed no key, and cannot break it."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.end_to_end.commands import fake_server

import assay
from assay import catalog
from assay.cli.main import main
from assay.core.errors import UsageError
from assay.core.types import Record
from assay.runs.evaluate import RunResult
from assay.runs.listeners import RunStart, find_listeners

HEARD: list[Any] = []


class Everything:
    """Keeps all it hears."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def run_began(self, run: RunStart) -> None:
        self.heard.append(run)

    def records(self, batch: Sequence[Record]) -> None:
        self.heard.extend(batch)

    def run_finished(self, result: RunResult) -> None:
        self.heard.append(result)


class Ends:
    """Hears only of ends, from the command line."""

    def run_finished(self, result: RunResult) -> None:
        HEARD.append(result.folder)


class Slow(Everything):
    """Waits with the first records until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def records(self, batch: Sequence[Record]) -> None:
        assert self.go.wait(60)
        super().records(batch)


class Broken(Everything):
    """Raises at the first records."""

    def records(self, batch: Sequence[Record]) -> None:
        super().records(batch)
        raise ValueError("the log is full")


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"id": str(n), "prompt": f"compute: {n} + 1", "targets": [str(n + 1)], "metadata": {"n": n}} for n in range(200)
    ]
    text = "".join(json.dumps({**line, "metric": "exact_match"}) + "\n" for line in lines)
    (tmp_path / "sums.jsonl").write_text(text)
    return "sums.jsonl"


def test_a_listener_hears_the_start_every_record_and_the_end(task: str) -> None:
    listener = Everything()
    result = assay.evaluate(task, "toy", listeners=[listener])
    start, *records, end = listener.heard
    assert (start.folder, start.total, start.done) == (result.folder, 200, 0)
    assert start.run.fingerprint == result.leaderboard.run_fingerprint
    assert sorted(int(record.sample_id) for record in records) == list(range(200))
    assert end.leaderboard == result.leaderboard


def test_a_listener_that_raises_is_dropped_with_one_warning(task: str, caplog: pytest.LogCaptureFixture) -> None:
    broken, whole = Broken(), Everything()
    with caplog.at_level(logging.WARNING, "assay"):
        result = assay.evaluate(task, "toy", listeners=[broken, whole], concurrency=2)
    assert result.exit_status == 0
    [message] = [record.message for record in caplog.records]
    assert "the listener Broken failed and is ignored from now on: ValueError: the log is full (" in message
    assert not isinstance(broken.heard[-1], RunResult)
    assert len(whole.heard) == 202


class Ending(Everything):
    """Ends its thread at the first records."""

    def records(self, batch: Sequence[Record]) -> None:
        raise SystemExit(4)


class Meddling(Everything):
    """Changes all that it is handed and can be changed."""

    def run_began(self, run: RunStart) -> None:
        run.run.definitions[0].provenance.recorded.clear()
        run.run.tasks.clear()

    def records(self, batch: Sequence[Record]) -> None:
        assert isinstance(batch, list)
        for record in batch:
            record.metadata.clear()
        batch.clear()

    def run_finished(self, result: RunResult) -> None:
        result.leaderboard.tasks.clear()
        result.leaderboard.settings.clear()


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class BrokenTwice(Everything):
    """Raises what cannot even be printed."""

    def records(self, batch: Sequence[Record]) -> None:
        raise UnspeakableError


class Telling(Everything):
    """Puts a key into its message."""

    def records(self, batch: Sequence[Record]) -> None:
        raise ValueError("refused: sk-listeners-0123456789abcdef")


class Waiting(Everything):
    async def records(self, batch: Sequence[Record]) -> None:  # type: ignore[override]
        self.heard.extend(batch)


def test_a_listener_that_would_end_the_program_is_dropped_with_a_warning(
    task: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert assay.evaluate(task, "toy", listeners=[Ending()]).exit_status == 0
    assert "the listener Ending failed and is ignored from now on: SystemExit: 4" in caplog.text


@pytest.mark.parametrize(
    ("listener", "what"),
    [
        (BrokenTwice(), "UnspeakableError: (its message cannot be had: RuntimeError)"),
        (Telling(), "ValueError: refused: "),
    ],
)
def test_the_warning_about_a_listener_can_be_printed_and_has_no_key(
    task: str, listener: Everything, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "assay"):
        assert assay.evaluate(task, "toy", listeners=[listener]).exit_status == 0
    [message] = [record.message for record in caplog.records]
    assert f"the listener {type(listener).__name__} failed and is ignored from now on: {what}" in message
    assert "(test_listeners.py:" in message
    assert "sk-listeners" not in message


def test_what_a_listener_does_to_what_it_is_handed_changes_nothing(task: str) -> None:
    meddling, other = Meddling(), Everything()
    result = assay.evaluate(task, "toy", listeners=[meddling, other], repeat=2, concurrency=1)
    assert result.exit_status == 0
    assert result.leaderboard.tasks == result.runs[0].open().leaderboard.tasks
    assert all(attempt.metadata == {"n": int(attempt.sample_id)} for attempt in result.runs[0].open().attempts())
    begun, *records, ended = other.heard
    assert begun.run.definitions
    assert begun.run.tasks
    assert len(records) == begun.total
    assert all(record.metadata == {"n": int(record.sample_id)} for record in records)
    assert ended.leaderboard == result.leaderboard


def test_a_listener_that_would_have_to_be_awaited_is_refused(task: str) -> None:
    with pytest.raises(UsageError, match=r"has an `async def records`: .* write `def`"):
        assay.evaluate(task, "toy", listeners=[Waiting()])
    for address in ("mlflow:./mlruns", "mlflow:http://127.0.0.1:5000"):
        with pytest.raises(UsageError, match="`mlflow` takes no address; `assay show mlflow` says"):
            find_listeners([address])
    assert not Path("runs").exists()


def test_a_listener_is_handed_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-listeners-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.chdir(tmp_path)
    line = {"id": "1", "prompt": "behave: echo_key 401\ncompute: 1 + 1", "targets": ["2"], "metric": "exact_match"}
    Path("t.jsonl").write_text(json.dumps(line) + "\n")
    listener = Everything()
    with fake_server() as server:
        options = {"base_url": server.base_url}
        assay.evaluate("t.jsonl", "openai:m", model_options=options, retries=0, listeners=[listener])
    assert len(listener.heard) == 3
    assert key.encode() not in msgspec.json.encode(listener.heard, enc_hook=str)


def test_the_command_line_names_listeners(task: str) -> None:
    HEARD.clear()
    assert main(["run", task, "--quiet", "--run-dir", "run", "--log-to", f"{__name__}:Ends"]) == 0
    assert [Path("run")] == HEARD


def test_an_installed_package_publishes_a_listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "site" / "hears-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hears\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[assay.listeners]\nends = {__name__}:Ends\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    [found] = find_listeners(["ends"])
    assert type(found).__name__ == "Ends"
    assert catalog.published("listener") == ["ends"]


def test_what_is_no_listener_is_refused_before_anything_runs(task: str) -> None:
    with pytest.raises(UsageError, match="has none of a listener's methods"):
        assay.evaluate(task, "toy", listeners=[object()])
    with pytest.raises(UsageError, match="unknown listener `mlfow`"):
        asyncio.run(assay.aevaluate(task, "toy", listeners=["mlfow"]))
    assert not Path("runs").exists()


def test_a_listener_that_waits_holds_up_no_attempt_and_hears_all_in_the_end(task: str) -> None:
    slow = Slow()

    def let_go(update: assay.ProgressUpdate) -> None:
        if update.done == update.total:  # every attempt was made while it waited
            slow.go.set()

    assay.evaluate(task, "toy", listeners=[slow], progress=let_go)
    assert len(slow.heard) == 202
    assert isinstance(slow.heard[-1], RunResult)


def test_a_listener_that_is_too_far_behind_misses_records_and_that_is_said(
    task: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.runs.listeners.MOST_WAITING", 2)
    slow = Slow()

    def let_go(update: assay.ProgressUpdate) -> None:
        if update.done == update.total:
            slow.go.set()

    with caplog.at_level(logging.WARNING, "assay"):
        assay.evaluate(task, "toy", listeners=[slow], progress=let_go, concurrency=1)
    assert isinstance(slow.heard[-1], RunResult)
    missed = 202 - len(slow.heard)
    assert missed > 0
    assert [record.message for record in caplog.records] == [
        f"the listener Slow was too slow for the run and has missed {missed} records"
    ]


def test_a_listener_hears_the_end_of_a_run_that_is_cancelled(task: str) -> None:
    listener = Everything()

    async def go() -> None:
        async def never(prompt: str) -> str:
            running.cancel()
            await asyncio.Event().wait()
            return ""

        running = asyncio.ensure_future(assay.aevaluate(task, never, listeners=[listener]))
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(go())
    start, end = listener.heard
    assert isinstance(start, RunStart)
    assert end.interrupted
    assert end.leaderboard.tasks[0].remaining == 200


def test_a_listener_hears_the_end_of_a_run_that_its_budget_stopped(task: str) -> None:
    listener = Everything()
    result = assay.evaluate(task, "toy", listeners=[listener], budget_tokens=40, concurrency=1)
    assert result.runs[0].stopped
    assert listener.heard[-1].stopped == result.runs[0].stopped


def test_a_resumed_run_is_logged_as_the_one_that_was_begun(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Everything(), Everything()
    assay.evaluate(task, "toy", listeners=[first])
    monkeypatch.setattr("assay.runs.assemble.time.strftime", lambda *_: "2100-01-01T00:00:00Z")
    assay.evaluate(task, "toy", listeners=[second])
    assert second.heard[0].done == 200
    assert second.heard[0].run.created == first.heard[0].run.created


@pytest.mark.parametrize("error", [OSError("no such server"), SystemExit(0)])
def test_a_listener_that_cannot_be_made_is_reported_before_anything_runs(task: str, error: BaseException) -> None:
    class Unmade(Everything):
        def __init__(self) -> None:
            raise error

    with pytest.raises(UsageError, match=rf"cannot be made: {type(error).__name__}: {error} \(test_listeners.py:"):
        assay.evaluate(task, "toy", listeners=[Unmade])
    assert not Path("runs").exists()
