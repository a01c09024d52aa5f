"""Evaluations that are asked for at about the same time, sent together: an extension of protocol v2.

A batch that breaks as a whole is taken apart: each of its evaluations is sent once more, alone, so that one example
that crashes its evaluator fails by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from assay.core.errors import UsageError
from assay.evaluators.payload import Evaluation, EvaluatorError

LINGER_SECONDS = 0.005
"""How long the first of a batch waits for others."""

Results = Sequence[Evaluation | EvaluatorError]
_Waiting = tuple[dict[str, Any], asyncio.Future[Evaluation]]


def check_batch(size: int | None) -> int | None:
    """The size of batches; `UsageError` when it is below 1. None: no batches."""
    if size is not None and size < 1:
        raise UsageError(f"a batch of an evaluator holds at least 1 evaluation, not {size}")
    return size


class Batches:
    """Payloads for the same task model travel together, at most so many at once."""

    def __init__(self, size: int, send: Callable[[Sequence[dict[str, Any]]], Awaitable[Results]]) -> None:
        """`send` gives a result for each payload, in order, or raises what is wrong with all of them."""
        self._size = size
        self._send = send
        self._collecting: dict[str | None, list[_Waiting]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def evaluate(self, payload: dict[str, Any]) -> Evaluation:
        loop = asyncio.get_running_loop()
        task_model = payload.get("task_model")
        batch = self._collecting.setdefault(task_model, [])
        answer: asyncio.Future[Evaluation] = loop.create_future()
        batch.append((payload, answer))
        if len(batch) == self._size:
            self._begin(task_model, batch)
        elif len(batch) == 1:
            loop.call_later(LINGER_SECONDS, self._begin, task_model, batch)
        return await answer

    async def close(self) -> None:
        """Give up what is under way."""
        sending = list(self._sending)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)

    def _begin(self, task_model: str | None, batch: list[_Waiting]) -> None:
        if self._collecting.get(task_model) is not batch:
            return  # it was full before its time was up
        del self._collecting[task_model]
        wanted = [waiting for waiting in batch if not waiting[1].done()]
        if not wanted:
            return
        task = asyncio.get_running_loop().create_task(self._exchange(wanted))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        for _, answer in wanted:
            answer.add_done_callback(lambda _: all(each.cancelled() for _, each in wanted) and task.cancel())

    async def _exchange(self, batch: Sequence[_Waiting]) -> None:
        try:
            results = await self._send([payload for payload, _ in batch])
        except EvaluatorError as error:
            if len(batch) > 1 and not error.failure.retryable:
                for item in batch:
                    await self._exchange([item])
                return
            results = [error] * len(batch)
        except BaseException as error:
            for _, answer in batch:
                if not answer.done():
                    answer.cancel() if isinstance(error, asyncio.CancelledError) else answer.set_exception(error)
            if isinstance(error, Exception):
                return
            raise
        for (_, answer), result in zip(batch, results, strict=True):
            if answer.done():
                continue  # cancelled meanwhile
            if isinstance(result, EvaluatorError):
                answer.set_exception(result)
            else:
                answer.set_result(result)
