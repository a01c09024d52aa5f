"""How long an attempt took does not count how long its requests waited to be sent."""

from __future__ import annotations

import asyncio

from assay.core.attempt import make_attempt
from assay.core.describe import ModelOffers
from assay.core.seams import Model, Work
from assay.core.task import Task
from assay.core.types import Completion, DatasetSpec, PartSpec, Record, Request, Sample, TaskDefinition, Trace
from assay.models.layers.waiting import WithoutWaiting
from assay.models.pool import ModelPool
from assay.run_config import RunConfig

QUEUE_SECONDS = 0.5


class Queued:
    """A server that takes a moment to answer, after every request has waited."""

    name = "queued"
    offers = ModelOffers(remote=True)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def generate(self, request: Request) -> Completion:
        await asyncio.sleep(QUEUE_SECONDS + self.seconds)
        return Completion(text="ok", seconds=self.seconds)


def attempt(model: Model, *, at_once: int = 1) -> Record:
    async def solve(sample: Sample, model: Model) -> Trace:
        completions = await asyncio.gather(*(model.generate(Request(prompt=str(n))) for n in range(at_once)))
        return Trace(prediction="ok", completions=tuple(completions))

    part = PartSpec(key="x", use="x")
    definition = TaskDefinition(
        name="t", format="x", dataset=DatasetSpec(use="x"), solver=part, scorers=(), aggregates=(), metric="m"
    )
    task = Task(definition=definition, dataset=(), solver=solve, scorers={})
    return asyncio.run(make_attempt(Work(task, 0, Sample(id="s", prompt="?"), 1, "k"), model))


def test_waiting_is_not_part_of_the_time_of_an_attempt() -> None:
    assert attempt(Queued(0.01)).seconds > QUEUE_SECONDS
    assert 0.01 <= attempt(WithoutWaiting(Queued(0.01))).seconds < QUEUE_SECONDS


def test_requests_that_wait_together_wait_once() -> None:
    assert 0.2 <= attempt(WithoutWaiting(Queued(0.2)), at_once=4).seconds < QUEUE_SECONDS


def test_a_model_that_does_not_report_its_time_is_not_taken_for_one_that_waits() -> None:
    class Silent(Queued):
        async def generate(self, request: Request) -> Completion:
            await asyncio.sleep(self.seconds)
            return Completion(text="ok")

    assert attempt(WithoutWaiting(Silent(0.2))).seconds >= 0.2


def test_the_models_of_a_run_that_can_wait_are_timed_without_it() -> None:
    config = RunConfig(cache=False)
    assert attempt(ModelPool(config).wrap(Queued(0.01))).seconds < QUEUE_SECONDS
