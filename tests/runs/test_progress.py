"""How a run reports what it does, and what it does where an event loop is running already."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

import pytest

from assay.core.errors import UsageError
from assay.core.run import Stop
from assay.core.types import Failure, Record
from assay.runs.progress import CallbackProgress, Progress, ProgressUpdate, run_blocking, signals


async def seven() -> int:
    return 7


def test_it_waits_in_a_loop_of_its_own() -> None:
    assert run_blocking(seven()) == 7


def test_where_a_loop_is_running_it_waits_in_a_thread() -> None:
    async def notebook() -> int:
        return run_blocking(seven())

    assert asyncio.run(notebook()) == 7


def test_an_interrupt_of_the_caller_cancels_what_runs_in_the_thread() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def notebook() -> None:
        run_blocking(forever())

    loop = asyncio.new_event_loop()  # as in a notebook, whose loop leaves Ctrl-C alone
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(notebook())
    loop.close()
    assert ended == ["cancelled"]


def record(key: str, *failures: Failure) -> Record:
    return Record(key=key, task="t", sample_id=key, index=0, failures=failures)


def test_a_callback_hears_of_attempts_of_earlier_sessions_and_of_workers() -> None:
    heard: list[ProgressUpdate] = []
    progress = CallbackProgress(heard.append)
    progress.begin(10, 4, [])
    progress.records([record("a"), record("b", Failure(stage="model", kind="timeout", message="late"))])
    progress.workers([(3, 1), (1, 0)], lost=(1, 1))
    assert [(each.total, each.done, each.failed) for each in heard] == [(10, 4, 0), (10, 6, 1), (10, 9, 2)]


async def awaited(update: ProgressUpdate) -> None: ...


@pytest.mark.parametrize(("callback", "why"), [(3, "is not a function"), (awaited, "is `async`")])
def test_what_cannot_be_called_is_refused_before_anything_runs(callback: Any, why: str) -> None:
    with pytest.raises(UsageError, match=f"^progress: .* {why}"):
        CallbackProgress(callback)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_another_thread_was_given_wakes_a_loop_that_sleeps(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stop, over = Stop(), threading.Event()
    stop.requested = True  # so that Ctrl-C gives up what is in flight as well
    other = threading.Thread(target=over.wait)

    async def seconds_until_heard() -> float:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        stop.bind(heard.set)
        began = loop.time()
        with signals(stop, Progress()):
            threading.Timer(0.05, signal.pthread_kill, (other.ident, number)).start()
            await asyncio.wait([asyncio.ensure_future(heard.wait())], timeout=60)  # as nothing else is due
        return loop.time() - began

    other.start()
    try:
        assert run_blocking(seconds_until_heard()) < 60
    finally:
        over.set()
    assert stop.signals
    assert signal.getsignal(number) is before
