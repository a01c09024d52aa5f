"""Lets the search engine, which is synchronous and waits in a thread of its own, ask in the event loop.

The loop stays in the main thread, where signals arrive and where the watch over scoring can end what computes too long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from assay.core.run import Stop
from assay.optimize.evaluations import SearchEnded

_T = TypeVar("_T")


class InTheLoop:
    """Called in the thread with a coroutine, it answers what that gives in the loop; `SearchEnded` if that is over."""

    def __init__(self, stop: Stop) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._now: Future[Any] | None = None
        self._gave_up = False
        stop.bind(self._give_up)

    def __call__(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._stop.asked:
            work.close()
            raise SearchEnded
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._now = future
        if self._gave_up:  # before there was anything to cancel
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            raise SearchEnded from None

    async def in_a_thread(self, function: Callable[[], _T]) -> _T:
        """Run what calls this object. Whoever gives up waiting for it asks it to end, and waits for that."""
        thread = asyncio.ensure_future(asyncio.to_thread(function))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            self._stop.now()
            await asyncio.wait([thread])
            raise

    def _give_up(self) -> None:
        self._gave_up = True
        if self._now is not None:
            self._now.cancel()
