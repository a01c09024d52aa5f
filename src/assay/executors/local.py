"""The local executor: a fixed number of workers over one lazy iterator, all in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from assay.core.seams import Work
from assay.core.types import Record

BATCH = 64


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
                if len(finished) >= BATCH:
                    # a model that answers without waiting would otherwise never let the journal have its turn
                    await asyncio.sleep(0)

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
        finally:
            everyone.cancel()
            await asyncio.gather(everyone, *workers, return_exceptions=True)
