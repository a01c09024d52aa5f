"""lm_eval in a process of its own, the one that snippets run in: one for this program, whoever asks.

Reading tasks, scoring and aggregating share what the process has loaded. It is spoken to from a thread of its own, so
that it outlives the event loop of any run, and ends when it has not been asked for a while.
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
from assay.models.embedded.weights import cache_folder
from assay.processes.environment import child_environment
from assay.snippets.process import Snippet

LONGEST_SECONDS = 3600.0
"""For one order: documents may have to be fetched."""
IDLE_SECONDS = 120.0
_SOURCE = "from assay.tasks.lm_eval.worker import answer"
EXTRA = "tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]'"


def built_folder() -> str:
    """Where names and built requests are kept; both can be made again."""
    return str(cache_folder() / "lm-eval")


class LmEvalProcess:
    """The process, and the thread whose event loop speaks to it."""

    def __init__(self) -> None:
        self._surroundings = _surroundings()
        self._snippet = Snippet(
            _SOURCE,
            function="answer",
            stage="scorer",
            part="lm_eval",
            time_limit_seconds=LONGEST_SECONDS,
            context=BuildContext(own_code=True),  # whoever reads a task has asked whether its Python may run
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lm_eval", daemon=True)
        self._thread.start()
        self._idle: asyncio.TimerHandle | None = None

    def is_of_here(self) -> bool:
        """Whether a process started now would see the same: the folder that paths are relative to, the settings."""
        return self._surroundings == _surroundings()

    def ask(self, do: str, **order: Any) -> dict[str, Any]:
        """What the worker answers; `FailureError` with its sentence where it cannot."""
        found: dict[str, Any] = self._start(self._asked(do, order)).result()
        return found

    async def ask_and_wait(self, do: str, **order: Any) -> dict[str, Any]:
        """The same, from within an event loop."""
        found: dict[str, Any] = await asyncio.wrap_future(self._start(self._asked(do, order)))
        return found

    def close(self) -> None:
        self._start(self._snippet.aclose()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _asked(self, do: str, order: dict[str, Any]) -> dict[str, Any]:
        if self._idle is not None:
            self._idle.cancel()
        try:
            found: dict[str, Any] = await self._snippet.call({"value": {"do": do, "folder": built_folder(), **order}})
        finally:
            self._idle = self._loop.call_later(IDLE_SECONDS, self._rest)
        if "problem" in found:
            raise FailureError(Failure(stage="scorer", part="lm_eval", kind="bad_input", message=found["problem"]))
        return found

    def _rest(self) -> None:
        """End the process; the next order starts another, which loads what it needs."""
        self._resting = self._loop.create_task(self._snippet.aclose())


_lock = threading.Lock()
_shared: list[LmEvalProcess] = []


def library() -> LmEvalProcess:
    """The process of this program, started when it is first asked for something."""
    with _lock:
        if _shared and not _shared[0].is_of_here():
            _shared.pop().close()
        if not _shared:
            _shared.append(LmEvalProcess())
        return _shared[0]


@atexit.register
def _close() -> None:
    while _shared:
        _shared.pop().close()


def ask(do: str, **order: Any) -> dict[str, Any]:
    """What the process answers to a reader; `UsageError` in its words where it cannot."""
    try:
        return library().ask(do, **order)
    except FailureError as error:
        message = error.failure.message
        raise UsageError(EXTRA if "No module named 'lm_eval'" in message else message) from error


def _surroundings() -> tuple[str, dict[str, str]]:
    return str(Path.cwd()), child_environment()
