"""Lets the search engine, which is synchronous, ask in the event loop.

Where the loop is our own, the two take turns in the main thread: the loop stands still while the engine computes, and
runs while it asks. In a loop that somebody else runs, the engine waits in a thread of its own. Either way the loop is
where signals arrive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar, copy_context
from threading import Thread
from typing import Any, TypeVar

from assay.core.run import Stop
from assay.optimize.evaluations import SearchEnded

_T = TypeVar("_T")


class _Turns:
    """A function that a coroutine leaves to whoever drives the loop, to run it while the loop stands still."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = loop.create_future()
        """The function, and the context of the coroutine that left it."""
        self._finished = loop.create_future()

    async def run(self, function: Callable[[], _T]) -> _T:
        self._left.set_result((function, copy_context()))
        answer: _T = await self._finished
        return answer

    async def until_left(self, main: asyncio.Task[Any]) -> None:
        await asyncio.wait((main, self._left), return_when=asyncio.FIRST_COMPLETED)

    def take(self) -> None:
        """Run what was left, if anything was."""
        if not self._left.done():
            return
        function, context = self._left.result()
        try:
            self._finished.set_result(context.run(function))
        except BaseException as error:
            self._finished.set_exception(error)


_turns: ContextVar[_Turns | None] = ContextVar("_turns", default=None)
"""None in a loop that somebody else runs."""


def run_by_turns(work: Coroutine[Any, Any, _T]) -> _T:
    """Like `asyncio.run`, but one function of an `InTheLoop` runs while the loop stands still."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        turns = _Turns(loop)
        context = copy_context()
        context.run(_turns.set, turns)
        main = loop.create_task(work, context=context)
        try:
            loop.run_until_complete(turns.until_left(main))
            turns.take()
            return loop.run_until_complete(main)
        finally:
            if main.done() and not main.cancelled():
                main.exception()  # retrieved: an interrupt bypasses the waiter of the task, and asyncio would warn


class InTheLoop:
    """Called by the engine with a coroutine, returns its result from the loop; `SearchEnded` once that has ended."""

    def __init__(self, stop: Stop) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = stop
        self._now: Future[Any] | asyncio.Task[Any] | None = None
        self._gave_up = False
        self._turns = _turns.get()
        stop.bind(self._give_up)

    def __call__(self, work: Coroutine[Any, Any, _T]) -> _T:
        if self._stop.requested:
            work.close()
            raise SearchEnded
        wait: Callable[[], _T]
        if self._turns is not None:
            task = self._loop.create_task(work)
            self._now, wait = task, lambda: self._loop.run_until_complete(task)
        else:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._now, wait = future, future.result
        if self._gave_up:  # before there was anything to cancel
            self._now.cancel()
        try:
            return wait()
        except (CancelledError, asyncio.CancelledError):
            raise SearchEnded from None

    async def run(self, function: Callable[[], _T]) -> _T:
        """Run what calls this object. Cancelling the wait asks it to stop, and waits for that."""
        if self._turns is not None:
            return await self._turns.run(function)
        finished: Future[_T] = Future()
        Thread(target=copy_context().run, args=(_fill, finished, function), name="search").start()
        thread = asyncio.wrap_future(finished)
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


def _fill(finished: Future[_T], function: Callable[[], _T]) -> None:
    try:
        finished.set_result(function())
    except BaseException as error:
        finished.set_exception(error)
