"""A program that is kept running to answer requests: started when first needed, and again when it has died.

Requests are numbered lines, in flight side by side; the number in an answer says whose it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from assay.processes.child import Child, OnLine

Answer = TypeVar("Answer")


class EndedError(Exception):
    """The program ended, or was ended, before it answered."""

    def __init__(self, child: Child) -> None:
        super().__init__(f"process {child.pid} ended")
        self.child = child


class Service(Generic[Answer]):
    """One running program at a time, for all callers."""

    def __init__(
        self,
        start: Callable[[OnLine], Child],
        read: Callable[[Child, bytes], tuple[int, Answer] | None],
        greet: Callable[[Child], Awaitable[None]] | None = None,
    ) -> None:
        """`read` makes a numbered answer of a line; None when the line was for its own use. What it raises is raised to
        all who wait for the program, which is then killed. `greet` is awaited before the first request."""
        self._start = start
        self._read = read
        self._greet = greet
        self._child: Child | None = None
        self._children: set[Child] = set()
        self._starting = asyncio.Lock()
        self._waiting: dict[int, tuple[Child, asyncio.Future[Answer]]] = {}
        self.issued = 0
        """The number of the latest request."""

    @property
    def load(self) -> int:
        """How many requests are waiting for their answers."""
        return len(self._waiting)

    @property
    def pids(self) -> list[int]:
        """The processes that have not ended."""
        return [child.pid for child in self._children if child.status is None]

    async def running(self) -> Child:
        """The program, started and greeted if need be. `OSError` when it cannot be started."""
        child = self._child
        if child is not None and not child.has_ended and child.is_ours:
            return child
        if child is not None and not child.is_ours:
            await self.aclose()
        async with self._starting:
            if self._child is None or self._child.has_ended:
                self._child = await self._started()
            return self._child

    async def ask(self, line: Callable[[int], bytes], timeout_seconds: float | None = None) -> Answer:
        """The answer to the line made for a number. `EndedError`; `TimeoutError` when it took too long."""
        return await self.ask_of(await self.running(), line, timeout_seconds)

    async def ask_of(self, child: Child, line: Callable[[int], bytes], timeout_seconds: float | None = None) -> Answer:
        if child.closed.done():
            raise EndedError(child)
        self.issued += 1
        number = self.issued
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (child, answer)
        try:
            child.write(line(number))
            if timeout_seconds is None:
                return await answer
            async with asyncio.timeout(timeout_seconds):
                return await answer
        except TimeoutError:
            self.drop(child)  # a hanging child does not recover; its other requests may be retried
            raise
        finally:
            del self._waiting[number]

    def drop(self, child: Child) -> None:
        """Kill it; the next request starts another."""
        if self._child is child:
            self._child = None
        child.kill()

    async def aclose(self, grace_seconds: float = 0.0) -> None:
        """Let the program end by itself, for so long; then kill its group."""
        children, self._children = self._children, set()
        self._child = None
        self._starting = asyncio.Lock()
        for child in children:
            await child.end(grace_seconds)

    async def _started(self) -> Child:
        child = self._start(self._on_line)
        self._children.add(child)
        child.closed.add_done_callback(lambda _: self._ended(child))
        if self._greet is not None:
            try:
                await self._greet(child)
            except BaseException:
                await child.end()
                raise
        return child

    def _on_line(self, child: Child, line: bytes) -> None:
        try:
            answer = self._read(child, line)
        except Exception as error:
            self._fail_all(child, error)
            self.drop(child)
            return
        if answer is not None:
            _, waiting = self._waiting.get(answer[0], (child, None))
            # an answer without a waiting caller belongs to an abandoned request
            if waiting is not None and not waiting.done():
                waiting.set_result(answer[1])

    def _ended(self, child: Child) -> None:
        self._children.discard(child)
        self._fail_all(child, EndedError(child))

    def _fail_all(self, child: Child, error: Exception) -> None:
        for asked, waiting in self._waiting.values():
            if asked is child and not waiting.done():
                waiting.set_exception(error)
