"""The process that a package with tasks runs in, of the kind that snippets run in; one for the whole program.

Reading tasks, scoring and aggregating share what the process has loaded. A separate thread talks to it, so that it
outlives the event loop of any run. It ends after some time without requests.
"""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Failure
from assay.processes.environment import child_environment
from assay.snippets.process import Snippet
from assay.user.cache_folder import cache_folder

LONGEST_SECONDS = 3600.0
"""The limit of one request: documents may have to be downloaded."""
IDLE_SECONDS = 120.0


class LibraryProcess:
    """The process, and the thread whose event loop talks to it. `source` defines `answer(order)`."""

    def __init__(self, package: str, source: str, folder: str) -> None:
        self._package = package
        self._folder = folder
        self._surroundings = _surroundings()
        self._snippet = Snippet(
            source,
            function="answer",
            stage="scorer",
            part=package,
            time_limit_seconds=LONGEST_SECONDS,
            context=BuildContext(own_code=True),  # the reader of the task has checked that its Python may run
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=package, daemon=True)
        self._thread.start()
        self._idle: asyncio.TimerHandle | None = None
        self._pending = 0

    def is_current(self) -> bool:
        """Whether a process started now would have the same working directory and environment."""
        return self._surroundings == _surroundings()

    def ask(self, do: str, **order: Any) -> dict[str, Any]:
        """The worker's answer; `FailureError` with its message where it has none."""
        answer: dict[str, Any] = self._start(self._request(do, order)).result()
        return answer

    async def ask_and_wait(self, do: str, *, limit_seconds: float | None = None, **order: Any) -> dict[str, Any]:
        """The same, from within an event loop; a process that takes longer than the limit is killed."""
        answer: dict[str, Any] = await asyncio.wrap_future(self._start(self._request(do, order, limit_seconds)))
        return answer

    def close(self) -> None:
        self._start(self._snippet.aclose()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _request(self, do: str, order: dict[str, Any], limit_seconds: float | None = None) -> dict[str, Any]:
        self._pending += 1
        if self._idle is not None:
            self._idle.cancel()
        request = {"value": {"do": do, "folder": self._folder, **order}}
        try:
            answer: dict[str, Any] = await self._snippet.call(request, time_limit_seconds=limit_seconds)
        finally:
            self._pending -= 1
            if not self._pending:  # another request may take longer than the idle limit
                self._idle = self._loop.call_later(IDLE_SECONDS, self._stop)
        if "problem" in answer:
            raise FailureError(Failure(stage="scorer", part=self._package, kind="bad_input", message=answer["problem"]))
        return answer

    def _stop(self) -> None:
        """End the process; the next request starts another, which loads what it needs."""
        self._stopping = self._loop.create_task(self._snippet.aclose())


class TaskLibrary:
    """An installed package that provides tasks, and its process, started at the first request."""

    def __init__(self, package: str, *, worker: str, folder: str, missing: str) -> None:
        self._package = package
        self._worker = worker
        self._folder = folder
        self._missing = missing
        self._lock = threading.Lock()
        self._shared: list[LibraryProcess] = []
        atexit.register(self._close)

    def process(self) -> LibraryProcess:
        """The running process; restarted if the working directory or the environment has changed."""
        with self._lock:
            if self._shared and not self._shared[0].is_current():
                self._shared.pop().close()
            if not self._shared:
                source = f"from {self._worker} import answer"
                self._shared.append(LibraryProcess(self._package, source, self.built_folder()))
            return self._shared[0]

    def ask(self, do: str, **order: Any) -> dict[str, Any]:
        """The worker's answer; `UsageError` with its message where it has none."""
        try:
            return self.process().ask(do, **order)
        except FailureError as error:
            message = error.failure.message
            raise UsageError(self._missing if f"No module named '{self._package}'" in message else message) from error

    def built_folder(self) -> str:
        """Where names and built requests are kept; both can be rebuilt."""
        return str(cache_folder() / self._folder)

    def _close(self) -> None:
        while self._shared:
            self._shared.pop().close()


def _surroundings() -> tuple[str, dict[str, str]]:
    return str(Path.cwd()), child_environment()
