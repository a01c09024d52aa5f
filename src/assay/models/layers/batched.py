"""Gathers requests into batches, for adapters that take many at once."""

from __future__ import annotations

import asyncio
from time import perf_counter

import msgspec

from assay.core.errors import FailureError
from assay.core.model_stack import Wrapper
from assay.core.seams import TakesBatches
from assay.core.types import Completion, Failure, Request
from assay.overriding import override


class Batched(Wrapper):
    """Gathers the requests of concurrent attempts into lists for an adapter that takes lists."""

    def __init__(self, model: TakesBatches, batch_size: int) -> None:
        super().__init__(model)
        self._generate_batch = model.generate_batch
        self._batch_size = batch_size
        self._waiting: list[tuple[Request, asyncio.Future[Completion]]] = []
        self._draining: asyncio.Task[None] | None = None

    @override
    async def generate(self, request: Request) -> Completion:
        answer: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        if self._draining is None:
            self._draining = asyncio.ensure_future(self._drain())
        return await answer

    async def _drain(self) -> None:
        """One batch after the other, never two at once: most adapters have one model or one connection."""
        try:
            while self._waiting:
                # one turn of the event loop lets every attempt that is ready join this batch
                await asyncio.sleep(0)
                batch = self._waiting[: self._batch_size]
                del self._waiting[: self._batch_size]
                batch = [(request, answer) for request, answer in batch if not answer.done()]
                if batch:
                    await self._answer(batch)
        finally:
            self._draining = None

    async def _answer(self, batch: list[tuple[Request, asyncio.Future[Completion]]]) -> None:
        started = perf_counter()
        try:
            completions = await self._generate_batch([request for request, _ in batch])
            if len(completions) != len(batch):
                message = f"the adapter returned {len(completions)} outputs for {len(batch)} prompts"
                raise FailureError(Failure(stage="model", part=self.name, kind="bad_output", message=message))
        except Exception as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        share = (perf_counter() - started) / len(batch)
        for (_, answer), outcome in zip(batch, completions, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, FailureError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome if outcome.seconds else msgspec.structs.replace(outcome, seconds=share))
