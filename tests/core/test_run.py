"""Which attempts a run makes: those that are missing, in order, until it is asked to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.scripted import Scripted
from tests.core.test_attempt import Says, a_task

from assay.core.attempt import attempt_key
from assay.core.journal import Journal, read_records
from assay.core.model_stack import not_sent
from assay.core.run import Stop, remaining_work, run_attempts
from assay.core.types import Completion, Record, Request, Sample
from assay.runs.local import LocalExecutor


def places(*, finished: tuple[int, ...] = (), repeat: int = 1, **options: object) -> list[tuple[int, int]]:
    work = remaining_work([a_task()], finished, repeat, Stop(), **options)  # type: ignore[arg-type]
    return [(item.position, item.attempt) for item in work]


def test_every_repetition_of_every_sample_is_made_in_the_order_of_the_samples() -> None:
    assert places(repeat=2) == [(0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


def test_what_is_finished_is_not_repeated() -> None:
    second = int(attempt_key("t", Sample(id="1", prompt="1"), 1), 16)
    assert places(finished=(second,)) == [(0, 1), (2, 1)]


def test_a_share_holds_its_own_positions_and_a_task_without_one_is_left_alone() -> None:
    assert places(positions={"t": range(1, 3)}) == [(1, 1), (2, 1)]
    assert places(positions={"other": range(3)}) == []
    assert places(positions={"t": range(2, 99)}) == [(2, 1)]


def test_samples_are_read_only_as_far_as_attempts_are_made() -> None:
    read: list[int] = []

    class Long:
        def __iter__(self) -> Iterator[Sample]:
            for number in range(10**9):
                read.append(number)
                yield Sample(id=str(number), prompt="?")

    from dataclasses import replace

    stop = Stop()
    work = remaining_work([replace(a_task(), dataset=Long())], (), 1, stop)  # type: ignore[arg-type]
    assert [next(work).position for _ in range(3)] == [0, 1, 2]
    stop.request()
    assert list(work) == []
    assert len(read) <= 4


def test_a_signal_stops_new_work_before_the_loop_has_had_a_turn() -> None:
    stop = Stop()
    work = remaining_work([a_task()], (), 1, stop)
    next(work)
    stop.signals = 1
    assert list(work) == []
    assert stop.interrupted
    assert not stop.requested


def test_an_attempt_that_was_given_up_before_any_answer_is_not_recorded(tmp_path: Path) -> None:
    stop = Stop()

    class EndsTheRun(Scripted):
        async def generate(self, request: Request) -> Completion:
            if self.asked:
                stop.request()
                raise not_sent(self.name)
            return await super().generate(request)

    journal = Journal(tmp_path / "journal.jsonl")
    told: list[Record] = []
    asyncio.run(
        run_attempts(
            [a_task()],
            EndsTheRun(["1"]),
            journal,
            LocalExecutor(1),
            finished=(),
            settings=Request(),
            stop=stop,
            on_records=told.extend,
        )
    )
    journal.close()
    assert [record.sample_id for record in read_records(journal.path)] == [record.sample_id for record in told] == ["0"]


def test_a_run_that_ends_itself_was_not_interrupted() -> None:
    stop = Stop()
    stop.end("the budget is used up")
    stop.end("another reason")
    assert (stop.requested, stop.reason, stop.interrupted) == (True, "the budget is used up", False)


def test_a_persons_stop_is_not_renamed_by_a_budget() -> None:
    stop = Stop()
    stop.request()
    stop.end("the budget is used up")
    assert (stop.reason, stop.interrupted) == (None, True)


def run(tmp_path: Path, model: object, stop: Stop, on_records: object = lambda records: None) -> list[Record]:
    async def go() -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        try:
            await run_attempts(
                [a_task(Says("m", "fine"))],
                model,  # type: ignore[arg-type]
                journal,
                LocalExecutor(1),
                finished=(),
                settings=Request(),
                stop=stop,
                on_records=on_records,  # type: ignore[arg-type]
            )
        finally:
            journal.close()

    asyncio.run(go())
    return [*read_records(tmp_path / "journal.jsonl")]


def test_asking_twice_gives_up_what_is_in_flight_and_keeps_what_is_written(tmp_path: Path) -> None:
    stop, written = Stop(), asyncio.Event()

    class Stuck(Scripted):
        async def generate(self, request: Request) -> object:  # type: ignore[override]
            if request.prompt == "1":
                await written.wait()
                stop.request()
                stop.request()
                await asyncio.Event().wait()
            return await super().generate(request)

    assert [record.sample_id for record in run(tmp_path, Stuck(), stop, lambda _: written.set())] == ["0"]


def test_a_cancellation_that_the_run_was_not_asked_for_is_passed_on(tmp_path: Path) -> None:
    async def go() -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        working = asyncio.ensure_future(
            run_attempts(
                [a_task()],
                Scripted(wait=lambda: asyncio.get_running_loop().create_future()),
                journal,
                LocalExecutor(1),
                finished=(),
                settings=Request(),
            )
        )
        await asyncio.sleep(0)
        working.cancel()
        try:
            await working
        finally:
            journal.close()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())
