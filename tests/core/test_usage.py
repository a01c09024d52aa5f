"""Every answer given on an attempt's behalf is on its account, also when the attempt breaks."""

from __future__ import annotations

import asyncio

from assay.core.attempt import make_attempt
from assay.core.model_stack import WithRunSettings
from assay.core.seams import Model, Work
from assay.core.task import Task
from assay.core.types import Completion, DatasetSpec, PartSpec, Request, Sample, Score, TaskDefinition, Trace, Usage
from assay.core.usage import note
from assay.costs.budget import CountedAsJudge


class Says:
    def __init__(self, name: str, *, counts: bool = True, cached: bool = False) -> None:
        self.name = name
        self._counts, self._cached = counts, cached

    async def generate(self, request: Request) -> Completion:
        await asyncio.sleep(0)
        counts = {"tokens_in": 10, "tokens_out": 2} if self._counts else {}
        return Completion(text="said", cached=self._cached, **counts)  # type: ignore[arg-type]


class Grades:
    name = "graded"

    def __init__(self, judge: Model) -> None:
        self._judge = judge

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        await asyncio.gather(*(self._judge.generate(Request(prompt="good?")) for _ in range(2)))
        return Score(name=self.name, values={"score": 1.0})


async def once(sample: Sample, model: Model) -> Trace:
    completion = await model.generate(Request(prompt=sample.prompt))
    return Trace(prediction=completion.text, completions=(completion,))


async def breaks(sample: Sample, model: Model) -> Trace:
    await model.generate(Request(prompt=sample.prompt))
    raise ValueError("gave up")


def usage(solver: object, judge: Model, model: Model, attempts: int = 1) -> list[tuple[Usage, ...]]:
    part = PartSpec(key="x", use="x")
    definition = TaskDefinition(
        name="t", format="x", dataset=DatasetSpec(use="x"), solver=part, scorers=(), aggregates=(), metric="m"
    )
    task = Task(definition=definition, dataset=(), solver=solver, scorers={"graded": Grades(judge)})  # type: ignore[arg-type]
    sample = Sample(id="s", prompt="12345678")

    async def go() -> list[tuple[Usage, ...]]:
        works = [Work(task, 0, sample, number, "k") for number in range(attempts)]
        records = [make_attempt(work, WithRunSettings(model, {})) for work in works]
        return [record.usage for record in await asyncio.gather(*records)]

    return asyncio.run(go())


def test_a_judge_is_on_the_account_and_what_the_trace_keeps_is_not() -> None:
    found = usage(once, CountedAsJudge(Says("judge")), Says("model"), attempts=3)
    expected = Usage(model="judge", answers=2, tokens_in=20, tokens_out=4)
    assert found == [(expected,)] * 3  # concurrent attempts do not pay for each other


def test_what_a_broken_attempt_asked_is_not_lost() -> None:
    ((found,),) = usage(breaks, CountedAsJudge(Says("judge")), Says("model"))
    assert (found.model, found.judge, found.tokens_in, found.tokens_out) == ("model", False, 10, 2)


def test_answers_from_the_cache_are_counted_and_free_and_uncounted_ones_are_guessed() -> None:
    ((cached,),) = usage(once, CountedAsJudge(Says("judge", cached=True)), Says("model"))
    assert (cached.answers, cached.cached, cached.tokens_in) == (2, 2, 0)
    ((silent,),) = usage(once, CountedAsJudge(Says("judge", counts=False)), Says("model"))
    assert (silent.unknown, silent.tokens_in, silent.guessed_in, silent.guessed_out) == (2, 0, 4, 2)


def test_a_model_asked_outside_an_attempt_is_on_nobodys_account() -> None:
    note("judge", Request(prompt=""), Completion(text=""), judge=True)
