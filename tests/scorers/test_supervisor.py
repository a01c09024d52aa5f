"""Code that never returns is given up, alone, and nothing it does meanwhile becomes a score."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.scorers.moving import METRIC, own_metric, values

from assay.core.types import Failure, Sample, Score, Trace
from assay.scorers.supervisor import MOST_DEATHS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_metrics.py").write_text(METRIC)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_metrics", raising=False)
    return tmp_path


def failure(outcomes: list[Score | Failure]) -> Failure:
    [found] = [each for each in outcomes if isinstance(each, Failure)]
    return found


def test_a_loop_that_swallows_every_exception_is_killed_in_its_time_limit(metrics: Path) -> None:
    scorer = own_metric("own_metrics:fickle", limit_seconds=0.5)
    outcomes = scorer.score([*["yes"] * 10, "hang", *["no"] * 10])
    assert values(outcomes) == [*[1.0] * 10, "timeout", *[0.0] * 10]
    found = failure(outcomes)
    assert (found.stage, found.part) == ("scorer", "own")
    assert found.message == "took more than 0.5 s to score (--timeout)"


def test_it_takes_no_signal_handler_and_no_timer_of_this_process(metrics: Path) -> None:
    handled = [number for number in signal.valid_signals() if number != signal.SIGINT]  # which is asyncio's
    usual = {signal.getsignal(number) for number in handled}
    scorer = own_metric("own_metrics:fickle", limit_seconds=0.5)
    during: list[Any] = []

    async def look(sample: Sample, trace: Trace) -> Score:
        during.append([signal.getsignal(number) for number in handled])
        return await inner(sample, trace)

    inner, scorer.scorer = scorer.scorer, look  # type: ignore[assignment]
    assert values(scorer.score(["yes", "hang"])) == [1.0, "timeout"]
    assert all(handler in usual for handlers in during for handler in handlers)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_it_works_outside_the_main_thread_as_well(metrics: Path) -> None:
    found: list[Any] = []
    scorer = own_metric("own_metrics:fickle", limit_seconds=0.5)
    thread = threading.Thread(target=lambda: found.extend(values(scorer.score(["hang", "yes"]))))
    thread.start()
    thread.join()
    assert found == ["timeout", 1.0]


def test_a_function_that_never_returns_is_abandoned_with_its_thread() -> None:
    over = threading.Event()

    def waits_for_ever(prediction: str, targets: Any, extras: Any) -> float:
        if prediction == "hang":
            over.wait()
        return 1.0

    outcomes = own_metric(waits_for_ever, limit_seconds=0.3).score(["yes", "hang", "yes"])
    over.set()
    assert values(outcomes) == [1.0, "timeout", 1.0]
    assert failure(outcomes).message == (
        "took more than 0.3 s to score (--timeout); it runs in a thread, which cannot be ended"
    )


def test_many_short_ones_are_not_one_long_one(metrics: Path) -> None:
    assert values(own_metric("own_metrics:slow", workers=1, limit_seconds=0.2).score(["yes"] * 300)) == [1.0] * 300


@pytest.mark.parametrize(
    ("prediction", "how"),
    [("die", "was killed by SIGKILL"), ("exit", "ended with status 0")],
)
def test_a_process_that_dies_costs_time_and_only_what_kills_every_one_fails(
    metrics: Path, prediction: str, how: str
) -> None:
    predictions = [*["yes"] * 20, "die once", *["no"] * 20, prediction, *["yes"] * 20]
    outcomes = own_metric("own_metrics:fickle").score(predictions, metrics / "mark")
    assert values(outcomes) == [*[1.0] * 20, 0.0, *[0.0] * 20, "crashed", *[1.0] * 20]
    assert failure(outcomes).message == f"scoring this sample crashes the scoring process, which {how}"
    assert MOST_DEATHS == 2


@pytest.mark.parametrize(
    ("prediction", "message"),
    [("broken", "ValueError: no such thing"), ("leave", "SystemExit: enough"), ("read", "EOFError: ")],
)
def test_what_a_metric_raises_is_a_failure(metrics: Path, prediction: str, message: str) -> None:
    outcomes = own_metric("own_metrics:fickle").score(["yes", prediction, "yes"])
    assert values(outcomes) == [1.0, "exception", 1.0]
    assert failure(outcomes).message.startswith(message)


def test_what_a_metric_keeps_stays_out_of_this_process(metrics: Path) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident()
    assert values(own_metric("own_metrics:leaks").score(["yes"] * 100)) == [1.0] * 100
    assert (resident() - before) * 4096 < 50 << 20


@pytest.mark.parametrize("signals", [1, 2])
def test_ending_a_run_does_not_wait_for_a_scorer(metrics: Path, signals: int) -> None:
    scorer = own_metric("own_metrics:fickle")
    scorer.stop.signals = signals
    started = time.monotonic()
    outcomes = scorer.score(["hang", "yes"])
    assert {each.kind for each in outcomes if isinstance(each, Failure)} == {"interrupted"}
    assert time.monotonic() - started < 10


def test_who_is_cancelled_does_not_wait_for_a_scorer(metrics: Path) -> None:
    scorer = own_metric("own_metrics:fickle")

    async def go() -> None:
        asked = asyncio.ensure_future(scorer.scorer(Sample(id="1"), Trace(prediction="hang")))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await scorer.supervisor.aclose()

    asyncio.run(go())


def test_without_processes_it_scores_in_a_thread_and_says_so(metrics: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(metrics / "no-python-here"))
    scorer = own_metric("own_metrics:fickle")
    assert values(scorer.score(["yes", "no"])) == [1.0, 0.0]
    assert scorer.said == [
        "`own` scores in a thread, which cannot be ended if it never returns: "
        "no scoring process can be started: No such file or directory"
    ]
