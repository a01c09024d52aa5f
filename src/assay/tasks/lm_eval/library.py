"""lm_eval in a process of its own, the one that snippets run in: whoever scores shares it, whoever reads asks once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any
from weakref import WeakKeyDictionary

from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext
from assay.core.types import Failure
from assay.models.embedded.weights import cache_folder
from assay.snippets.process import Snippet

LONGEST_SECONDS = 3600.0
"""For one order: documents may have to be fetched."""
_SOURCE = "from assay.tasks.lm_eval.worker import answer"
EXTRA = "tasks of lm-evaluation-harness need its package: pip install 'assay-eval[lm-eval]'"


def built_folder() -> str:
    """Where names and built requests are kept; both can be made again."""
    return str(cache_folder() / "lm-eval")


class LmEvalProcess:
    """The process, started when it is first asked for something."""

    def __init__(self) -> None:
        self.users = 0
        self._snippet = Snippet(
            _SOURCE,
            function="answer",
            stage="scorer",
            part="lm_eval",
            time_limit_seconds=LONGEST_SECONDS,
            context=BuildContext(own_code=True),  # whoever reads a task has asked whether its Python may run
        )

    async def ask(self, do: str, **order: Any) -> dict[str, Any]:
        """What the worker answers; `FailureError` with its sentence where it cannot."""
        found: dict[str, Any] = await self._snippet.call({"value": {"do": do, "folder": built_folder(), **order}})
        if "problem" in found:
            raise FailureError(Failure(stage="scorer", part="lm_eval", kind="bad_input", message=found["problem"]))
        return found

    async def aclose(self) -> None:
        await self._snippet.aclose()


_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, LmEvalProcess] = WeakKeyDictionary()


def join() -> LmEvalProcess:
    """The library that everybody in this event loop shares; who joins leaves again."""
    library = _shared.setdefault(asyncio.get_running_loop(), LmEvalProcess())
    library.users += 1
    return library


async def leave(library: LmEvalProcess) -> None:
    library.users -= 1
    if library.users == 0:
        _shared.pop(asyncio.get_running_loop(), None)
        await library.aclose()


def ask_once(
    order: dict[str, Any], then: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None
) -> list[dict[str, Any]]:
    """What a process of its own answers, and to the order that `then` makes of that; `UsageError` in its words."""

    async def ask_all() -> list[dict[str, Any]]:
        library = LmEvalProcess()
        try:
            answers = [await library.ask(**order)]
            if then is not None and (further := then(answers[0])) is not None:
                answers.append(await library.ask(**further))
            return answers
        finally:
            await library.aclose()

    try:
        return _run(ask_all())
    except FailureError as error:
        message = error.failure.message
        raise UsageError(EXTRA if "No module named 'lm_eval'" in message else message) from error


def _run(coroutine: Coroutine[Any, Any, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """To its end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    found: list[list[dict[str, Any]]] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(coroutine))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]
