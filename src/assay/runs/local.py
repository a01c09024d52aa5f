"""Attempts in this process: a fixed number of workers over one lazy iterator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from types import coroutine

from assay.core.journal import Journal
from assay.core.model_stack import given_settings
from assay.core.run import Stop, run_attempts
from assay.core.seams import Executor, Work
from assay.core.types import Record
from assay.models.layers.settings import NotesOverridden
from assay.runs.assemble import Parts
from assay.runs.earlier_attempts import MadeEarlier
from assay.runs.part_budgets import WithinParts
from assay.runs.progress import Progress
from assay.runs.stretches import OpenStretch


async def run_here(
    parts: Parts,
    journal: Journal,
    finished: MadeEarlier,
    stop: Stop,
    progress: Progress,
    stretch: OpenStretch,
    *,
    on_records: Callable[[list[Record]], None],
    positions: Mapping[str, range] | None = None,
) -> None:
    """Make every attempt that is neither finished nor outside `positions`, and write it into the journal.

    One that has an answer and lacks scores is continued: its model is not called again.
    """
    config = parts.config
    parts.models.bind(stop, progress.say)
    parts.supervisor.bind(stop, progress.say)
    progress.watch(parts.models.request_state)
    model = NotesOverridden(parts.model, given_settings(config.settings()))
    executor: Executor = InStretch(LocalExecutor(parts.in_flight), stretch)
    if parts.parts:
        executor = WithinParts(executor, parts.parts, stop, progress.say)
    with ending_after(config.budget_minutes, stop):
        await run_attempts(
            parts.tasks,
            model,
            journal,
            executor,
            finished=finished,
            earlier=finished.record,
            settings=config.settings(),
            repeat=config.repeat,
            repeats=config.repeats(),
            settings_of=config.settings_of_tasks(),
            positions=positions,
            stop=stop,
            on_records=on_records,
        )
    if model.overridden:  # what a solver of the user's own sends is not known before
        stretch.note_overridden(model.overridden)


@contextmanager
def ending_after(minutes: float | None, stop: Stop) -> Iterator[None]:
    """Start nothing new once this time is over; what is in flight is finished."""
    if minutes is None:
        yield
        return
    timer = asyncio.get_running_loop().call_later(
        minutes * 60, stop.end, f"the budget of {minutes:g} minutes is used up"
    )
    try:
        yield
    finally:
        timer.cancel()


class InStretch:
    """Completes the stretch with what records show before they are passed on to the journal."""

    def __init__(self, executor: Executor, stretch: OpenStretch) -> None:
        self._executor, self._stretch = executor, stretch

    async def run(
        self, make_attempt: Callable[[Work], Awaitable[Record]], work: Iterable[Work]
    ) -> AsyncIterator[list[Record]]:
        async with aclosing(self._executor.run(make_attempt, work)) as batches:  # type: ignore[type-var]
            async for records in batches:
                await self._stretch.complete(records)
                yield records


@coroutine
def _let_others_run() -> Generator[None]:
    """`asyncio.sleep(0)` in half its time."""
    yield


class LocalExecutor:
    """Keeps `concurrency` attempts in flight; memory does not grow with the amount of work."""

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency

    async def run(
        self, make_attempt: Callable[[Work], Awaitable[Record]], work: Iterable[Work]
    ) -> AsyncIterator[list[Record]]:
        remaining = iter(work)
        finished: list[Record] = []
        news = asyncio.Event()

        async def worker() -> None:
            for item in remaining:
                finished.append(await make_attempt(item))
                news.set()
                # the journal is written before the next request is sent: a kill repeats only what is in flight
                await _let_others_run()

        workers = [asyncio.ensure_future(worker()) for _ in range(self._concurrency)]
        everyone = asyncio.gather(*workers)
        everyone.add_done_callback(lambda _: news.set())
        try:
            while not everyone.done() or finished:
                await news.wait()
                news.clear()
                if finished:
                    batch, finished[:] = finished.copy(), ()
                    yield batch
            everyone.result()
        except asyncio.CancelledError:
            if finished:  # only what is in flight is abandoned, never what is finished
                yield finished
            raise
        finally:
            everyone.cancel()
            await asyncio.gather(everyone, *workers, return_exceptions=True)
