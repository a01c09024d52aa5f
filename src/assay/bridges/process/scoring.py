"""Sends answers to the process that scores them, those that are ready in one call.

An answer that hangs or ends the process fails only its own sample.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from assay.bridges.process.library_process import LibraryProcess
from assay.core.errors import FailureError
from assay.core.types import Failure

MOST_AT_ONCE = 64
GRACE_SECONDS = 5.0
"""How long a step that is over its time limit may take to be interrupted, before its process is killed."""
Waiting = tuple[dict[str, Any], asyncio.Future[dict[str, Any]]]


class ScoringQueue:
    """Collects samples while others are being scored, and scores them together in the next call.

    `part` is the scorer and `shown` the task, both for messages.
    """

    def __init__(
        self, process: Callable[[], LibraryProcess], order: dict[str, Any], *, part: str, shown: str, seconds: float
    ) -> None:
        self._process = process
        self._order = order
        self._part = part
        self._shown = shown
        self._seconds = seconds
        self._waiting: list[Waiting] = []
        self._suspects: list[Waiting] = []
        """Samples of a batch that ended the process, each to be tried alone."""
        self._scoring: asyncio.Task[None] | None = None

    async def score(self, sample: dict[str, Any]) -> dict[str, Any]:
        """The package's scores for one sample; `FailureError` where its code fails."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((sample, future))
        if self._scoring is None:
            self._scoring = asyncio.create_task(self._score_all())
        result = await future
        if "timeout" in result:
            raise self._out_of_time()
        if "problem" in result:
            raise self.failure("exception", result["problem"], result["traceback"])
        return result

    async def _score_all(self) -> None:
        await asyncio.sleep(0)  # samples that are ready join the first call
        while self._waiting or self._suspects:
            if self._suspects:
                batch = [self._suspects.pop()]
            else:
                batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            try:
                scores = await self._scores([sample for sample, _ in batch])
            except Exception as error:
                self._give_up(batch, error)
                continue
            self._waiting = [*batch[len(scores) :], *self._waiting]  # those not reached in time
            for (_, future), result in zip(batch, scores, strict=False):
                if not future.done():
                    future.set_result(result)
        self._scoring = None

    async def _scores(self, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
        order = {**self._order, "samples": samples, "seconds": self._seconds}
        longest = 2 * self._seconds + GRACE_SECONDS  # the last document may begin when the others' time is over
        process = self._process()
        answer = await process.ask_and_wait("score", limit_seconds=longest, **order)
        while "not_loaded" in answer:
            await process.ask_and_wait("load", **self._order)
            answer = await process.ask_and_wait("score", limit_seconds=longest, **order)
        scores: list[dict[str, Any]] = answer["scores"]
        return scores

    def _give_up(self, batch: list[Waiting], error: Exception) -> None:
        """Fail the batch; if it ended the process, try each of several samples alone to find the one at fault."""
        lost = error.failure.kind if isinstance(error, FailureError) else ""
        if lost in ("timeout", "exception"):
            if len(batch) > 1:
                self._suspects += reversed(batch)
                return
            error = (
                self._out_of_time(", and could not be interrupted")
                if lost == "timeout"
                else self.failure("exception", f"`{self._shown}`: scoring ended its process")
            )
        for _, future in batch:
            if not future.done():
                future.set_exception(error)

    def _out_of_time(self, how: str = "") -> FailureError:
        limit = f"scoring took longer than {self._seconds:g} s (--timeout)"
        return self.failure("timeout", f"`{self._shown}`: {limit}{how}")

    def failure(self, kind: str, message: str, traceback: str = "") -> FailureError:
        return FailureError(
            Failure(stage="scorer", part=self._part, kind=kind, message=message, traceback=traceback[-4000:])
        )

    async def aclose(self) -> None:
        if self._scoring is not None:
            self._scoring.cancel()
            self._scoring = None
