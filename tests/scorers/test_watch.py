"""A scorer that computes forever is ended, alone, and nothing it does meanwhile becomes a score."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from assay.core.attempt import score_trace
from assay.core.run import Stop
from assay.core.types import Failure, Sample, Score, Trace
from assay.scorers.watch import Watch

LIMIT_SECONDS = 0.5


@dataclass(frozen=True)
class Scorer:
    """A scorer that computes something and says 1.0."""

    compute: Callable[[], Any]
    name: str = "s"

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        self.compute()
        return Score(name=self.name, values={"score": 1.0})


@dataclass(frozen=True)
class Task:
    """As much of a task as scoring needs."""

    scorers: tuple[Any, ...]
    actions: Any = None

    def scorers_for(self, sample: Sample) -> tuple[Any, ...]:
        return self.scorers


def scored(
    *scorers: Any, limit: float | None = LIMIT_SECONDS, stop: Stop | None = None, said: list[str] | None = None
) -> tuple[tuple[Score, ...], tuple[Failure, ...]]:
    async def go() -> tuple[tuple[Score, ...], tuple[Failure, ...]]:
        with Watch(limit, stop, (said if said is not None else []).append):
            task: Any = Task(scorers, {})
            scores, failures, *_ = await score_trace(task, Sample(id="1"), Trace(prediction="x"))
            return scores, failures

    return asyncio.run(go())


def loop_forever() -> None:
    while True:
        pass


def sleep_forever() -> None:
    time.sleep(1000)


def match_forever() -> None:
    re.search(r"(?:a|a)*b", "a" * 40)


def catch_what_it_can() -> None:
    try:
        loop_forever()
    except Exception:
        return


def swallow_everything() -> None:
    try:
        loop_forever()
    except BaseException:
        return  # and a score is made up


def swallow_again_and_again() -> None:
    for _ in range(4):
        swallow_everything()


@pytest.mark.parametrize(
    "compute",
    [
        loop_forever,
        sleep_forever,
        match_forever,
        catch_what_it_can,
        swallow_everything,
        swallow_again_and_again,
    ],
)
def test_what_computes_too_long_is_a_timeout_and_no_score(compute: Callable[[], None]) -> None:
    scores, (failure,) = scored(Scorer(compute), Scorer(lambda: None, "next"))
    assert [score.name for score in scores] == ["next"]
    assert (failure.stage, failure.part, failure.kind) == ("scorer", "s", "timeout")
    assert failure.message == "took more than 0.5 s to score (--timeout)"


def test_what_waits_is_not_watched() -> None:
    class Waiting:
        name = "waiting"

        async def __call__(self, sample: Sample, trace: Trace) -> Score:
            for _ in range(8):
                await asyncio.sleep(0.2)
            return Score(name="waiting", values={"score": 1.0})

    scores, failures = scored(Waiting())
    assert (len(scores), failures) == (1, ())


def test_many_short_ones_without_a_pause_between_them_are_not_one_long_one() -> None:
    async def go() -> list[Any]:
        with Watch(LIMIT_SECONDS):
            task: Any = Task((Scorer(lambda: time.sleep(0.02)),), {})
            return [await score_trace(task, Sample(id=str(n)), Trace(prediction="x")) for n in range(60)]

    assert all(len(scores) == 1 and not failures for scores, failures, *_ in asyncio.run(go()))


def test_a_limit_of_its_own_by_alarm_is_the_scorers_own_business() -> None:
    class AlarmError(Exception):
        pass

    def raise_alarm(*_: object) -> None:
        raise AlarmError

    def limited() -> None:
        before = signal.signal(signal.SIGALRM, raise_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            loop_forever()
        except AlarmError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    scores, failures = scored(Scorer(limited), limit=60)
    assert (len(scores), failures) == (1, ())


@pytest.mark.parametrize("signals", [1, 2])
def test_ending_a_run_does_not_wait_for_a_scorer(signals: int) -> None:
    stop = Stop()

    def be_interrupted() -> None:
        stop.signals = signals
        loop_forever()

    scores, (failure,) = scored(Scorer(be_interrupted), limit=None, stop=stop)
    assert (scores, failure.kind) == ((), "interrupted")


def test_without_a_stop_who_cancels_what_is_watched_asks_it_to_end() -> None:
    found: list[Failure] = []

    async def go() -> None:
        cancel = asyncio.current_task().cancel  # type: ignore[union-attr]  # this is one

        def be_cancelled() -> None:
            cancel()
            loop_forever()

        with Watch(None):
            task: Any = Task((Scorer(be_cancelled),), {})
            found.extend((await score_trace(task, Sample(id="1"), Trace(prediction="x")))[1])

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())
    assert [failure.kind for failure in found] == ["interrupted"]


def test_outside_the_main_thread_it_says_what_it_cannot_end() -> None:
    said: list[str] = []
    seen = threading.Event()

    def compute_until_it_is_said() -> None:
        while not said:
            time.sleep(0.01)
        seen.set()

    thread = threading.Thread(target=scored, args=(Scorer(compute_until_it_is_said),), kwargs={"said": said})
    thread.start()
    thread.join()
    assert seen.is_set()
    assert "cannot be ended, since the run is not in the main thread" in said[0]
    assert len(said) == 1


def test_nothing_is_left_behind() -> None:
    before = signal.getsignal(signal.SIGURG)
    scored(Scorer(loop_forever))
    assert signal.getsignal(signal.SIGURG) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "watch over scoring"]


def test_runs_side_by_side_leave_nothing_behind_whichever_ends_first() -> None:
    async def overlap() -> None:
        first, second = Watch(None), Watch(None)
        first.__enter__()
        second.__enter__()
        first.__exit__()
        assert signal.getitimer(signal.ITIMER_VIRTUAL) != (0.0, 0.0)
        second.__exit__()

    before = signal.getsignal(signal.SIGVTALRM)
    asyncio.run(overlap())
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before
