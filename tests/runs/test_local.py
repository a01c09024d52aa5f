"""The local executor keeps a fixed number of attempts in flight, hands over every record, and ends cleanly."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest

from assay.core.seams import Work
from assay.core.types import Record, Sample
from assay.runs.local import LocalExecutor


def work(count: int) -> list[Work]:
    return [Work(None, n, Sample(id=str(n)), 1, f"{n:016x}") for n in range(count)]


def record_of(item: Work) -> Record:
    return Record(key=item.key, task="t", sample_id=item.sample.id, index=item.position)


def run(concurrency: int, count: int, attempt: Callable[[Work], Any]) -> list[int]:
    async def go() -> list[int]:
        found: list[int] = []
        async for batch in LocalExecutor(concurrency).run(attempt, work(count)):
            found += [record.index for record in batch]
        return found

    return asyncio.run(go())


@pytest.mark.parametrize(("concurrency", "count"), [(1, 0), (1, 5), (4, 3), (8, 500)])
def test_every_record_is_handed_over_once(concurrency: int, count: int) -> None:
    async def attempt(item: Work) -> Record:
        await asyncio.sleep(0)
        return record_of(item)

    assert sorted(run(concurrency, count, attempt)) == list(range(count))


def test_no_more_attempts_are_in_flight_than_asked() -> None:
    running = most = 0

    async def attempt(item: Work) -> Record:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return record_of(item)

    run(3, 50, attempt)
    assert most == 3


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_record_is_written_before_the_next_attempt_of_its_worker_begins(concurrency: int) -> None:
    """What a kill repeats is in flight, even where many answers arrive at the same moment."""
    begun, written, unwritten = 0, 0, []
    together = asyncio.Barrier(concurrency)

    async def attempt(item: Work) -> Record:
        nonlocal begun
        begun += 1
        unwritten.append(begun - written)
        await together.wait()
        await asyncio.sleep(0)
        return record_of(item)

    async def go() -> None:
        nonlocal written
        async for batch in LocalExecutor(concurrency).run(attempt, work(40)):
            written += len(batch)

    asyncio.run(go())
    assert written == 40
    assert max(unwritten) == concurrency


def test_what_is_finished_when_a_run_is_given_up_is_handed_over() -> None:
    found: list[int] = []

    async def attempt(item: Work) -> Record:
        if item.position == 1:
            task[0].cancel()  # the second Ctrl-C, before the journal has had its turn
        if item.position > 1:
            await asyncio.Event().wait()
        return record_of(item)

    async def consume() -> None:
        async with aclosing(LocalExecutor(4).run(attempt, work(10))) as batches:  # type: ignore[type-var]
            async for batch in batches:
                found.extend(record.index for record in batch)

    async def go() -> None:
        task[0] = asyncio.ensure_future(consume())
        with suppress(asyncio.CancelledError):
            await task[0]

    task: dict[int, asyncio.Future[None]] = {}
    asyncio.run(go())
    assert found == [0, 1]
    assert task[0].cancelled()


def test_a_model_that_never_waits_still_lets_records_through_in_batches() -> None:
    sizes: list[int] = []

    async def attempt(item: Work) -> Record:
        return record_of(item)

    async def go() -> None:
        async for batch in LocalExecutor(2).run(attempt, work(1000)):
            sizes.append(len(batch))

    asyncio.run(go())
    assert sum(sizes) == 1000
    assert max(sizes) <= 200


def test_what_the_work_raises_reaches_the_caller() -> None:
    def broken() -> Any:
        yield work(1)[0]
        raise OSError("the dataset is gone")

    async def attempt(item: Work) -> Record:
        return record_of(item)

    async def go() -> None:
        async for _ in LocalExecutor(2).run(attempt, broken()):
            pass

    with pytest.raises(OSError, match="the dataset is gone"):
        asyncio.run(go())


def test_leaving_early_cancels_what_is_in_flight_and_leaves_nothing_unsaid() -> None:
    complaints: list[dict[str, Any]] = []

    async def attempt(item: Work) -> Record:
        if item.position:
            await asyncio.Event().wait()
        return record_of(item)

    async def go() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        async with aclosing(LocalExecutor(4).run(attempt, work(10))) as batches:  # type: ignore[type-var]
            async for _ in batches:
                break
        gc.collect()

    asyncio.run(go())
    gc.collect()
    assert complaints == []
