"""What every solver must do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from assay.core.describe import ModelOffers, SolverNeeds, about
from assay.core.draws import Draws, is_sampled
from assay.core.errors import FailureError
from assay.core.model_stack import WithRunSettings
from assay.core.seams import BuildContext, Model, Previewable, Rehearsable, Solver
from assay.core.types import Completion, Failure, Request, Sample, Trace
from assay.overriding import override
from assay.testing.contract import bounded_work, clauses_about, expect, given, hold_to, picture, plain_data, same, shown
from assay.testing.hostile_texts import ODD, long_texts
from assay.testing.leftovers import close_twice, nothing_left, opened
from assay.testing.scripted import ScriptedModel, context_with

MakeSolver = Callable[[BuildContext], Solver]
FAILURE = Failure(stage="model", part="scripted", kind="rate_limit", message="no more today", retryable=True)


class _Solver(NamedTuple):
    make: MakeSolver
    as_given: Sequence[Sample]
    answer: Callable[[Request], str | Completion]
    others: dict[str, Model]
    needs: SolverNeeds | None

    @property
    def samples(self) -> Sequence[Sample]:
        """Fresh copies: a clause may change them."""
        return deepcopy(self.as_given)

    def model(self) -> _RecordingModel:
        return _RecordingModel(self.answer)

    def built(self) -> Solver:
        return self.make(context_with(self.others))

    def needs_of(self, solve: Solver) -> SolverNeeds:
        """What is said of it, here or by its class; the defaults where nothing is."""
        needs = self.needs or about(type(solve), {})
        return needs if isinstance(needs, SolverNeeds) else SolverNeeds()


class _RecordingModel(ScriptedModel):
    """Scores continuations, and records its completions."""

    offers = ModelOffers(likelihoods="yes")

    def __init__(self, answers: Callable[[Request], Any]) -> None:
        super().__init__(answers)
        self.gave: list[Completion] = []

    @override
    async def generate(self, request: Request) -> Completion:
        completion = await super().generate(request)
        if request.continuation is not None and completion.logprob is None:
            completion = msgspec.structs.replace(completion, logprob=-1.0 - len(request.continuation))
        self.gave.append(completion)
        return completion


def check_solver(
    make: MakeSolver,
    samples: Iterable[Sample],
    *,
    answer: Callable[[Request], str | Completion] = lambda request: f"said to: {request.text()[-40:]}",
    others: dict[str, Model] | None = None,
    needs: SolverNeeds | None = None,
) -> None:
    """`BrokenContractError` where a solver invents an answer, hides a failure, mixes up samples, or leaves things open.

    `make` is given the `BuildContext` that a task would give it; `samples` are two or more that it can solve; `answer`
    is what the model says to its requests; `others` are further models by the name under which it asks for them;
    `needs` is what its factory says with `describes`, where that is not its class.
    """
    hold_to("solver", make, CLAUSES, _Solver(make, tuple(samples), answer, others or {}, needs))


async def gives_a_trace_that_is_plain_data(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        for sample in solver.samples:
            with given(f"sample={shown(sample)}"):
                trace = await solve(sample, solver.model())
                expect(isinstance(trace, Trace), f"returned {shown(trace)}, no `assay.Trace`")
                plain_data(trace, Trace)


async def keeps_only_completions_that_the_model_gave(solver: _Solver) -> None:
    """Costs and tokens are counted by them."""
    async with opened(solver.built()) as solve:
        for sample in solver.samples:
            model = solver.model()
            with given(f"sample={shown(sample)}"):
                trace = await solve(sample, model)
                invented = [completion for completion in trace.completions if completion not in model.gave]
                expect(not invented, f"the trace has {shown(invented)}, which the model did not give")
                expect(bool(trace.completions) or not model.gave, "the model was called, and no answer is in the trace")


async def leaves_the_sample_as_it_is(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        for sample in solver.samples:
            before = picture(sample)
            with given(f"sample={shown(sample)}"):
                await solve(sample, solver.model())
                same(before, picture(sample), "the sample before and after")


async def asks_the_same_for_the_same_sample(solver: _Solver) -> None:
    """So that a resumed run finds its answers in the cache, whatever was solved before."""
    async with opened(solver.built()) as solve:
        first_pictures: dict[str, Any] = {}
        for sample in (*solver.samples, *reversed(solver.samples)):
            model = solver.model()
            with given(f"sample={shown(sample)}"):
                trace = await solve(sample, model)
                now = picture((model.requests, trace))
                same(first_pictures.setdefault(sample.id, now), now, "two times gave two traces")


async def takes_equal_sampled_requests_as_so_many_draws(solver: _Solver) -> None:
    """An answer that stands for two, or for those of another repetition, makes spread and agreement wrong."""
    async with opened(solver.built()) as solve:
        for sample in solver.samples:
            model, shown_draws = _Drawing(solver.answer), list[int]()
            with given(f"sample={shown(sample)}, two repetitions at temperature 1"):
                for repetition in (1, 2):
                    with Draws("t", sample, repetition):
                        trace = await solve(sample, WithRunSettings(model, {"temperature": 1.0}))
                    shown_draws += (
                        completion.raw["draw"]
                        for completion in trace.completions
                        if completion.raw and "draw" in completion.raw
                    )
                repeated = [draw for draw in shown_draws if shown_draws.count(draw) > 1]
                expect(not repeated, f"{len(model.requests)} answers were given, and one counts {len(repeated)} times")


class _Drawing(_RecordingModel):
    """Numbers its sampled answers."""

    @override
    async def generate(self, request: Request) -> Completion:
        completion = await super().generate(request)
        return msgspec.structs.replace(completion, raw={"draw": len(self.gave)}) if is_sampled(request) else completion


async def solves_many_at_once_as_one_by_one(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        alone = [await solve(sample, solver.model()) for sample in solver.samples]
        models = [_Slow(solver.answer) for _ in range(4 * len(alone))]
        together = await asyncio.gather(
            *(solve(solver.samples[at % len(alone)], model) for at, model in enumerate(models))
        )
        for at, trace in enumerate(together):
            with given(f"sample={shown(solver.samples[at % len(alone)])} together with {len(together) - 1} others"):
                same(picture(alone[at % len(alone)]), picture(trace), "alone and in company")


class _Slow(_RecordingModel):
    """Lets other tasks run before it answers."""

    @override
    async def generate(self, request: Request) -> Completion:
        for _ in range(len(request.text()) % 7):
            await asyncio.sleep(0)
        return await super().generate(request)


async def passes_a_failure_of_the_model_on_unchanged(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        for sample in solver.samples:
            model = _RecordingModel(lambda request: FailureError(FAILURE))
            with given(f"sample={shown(sample)}, and a model that fails"):
                try:
                    trace = await solve(sample, model)
                except FailureError as error:
                    same(FAILURE, error.failure, "the model's failure and the solver's")
                else:
                    expect(not model.requests, f"the model failed, and there is a trace: {shown(trace)}")


async def gives_a_trace_or_a_failure_whatever_the_model_says(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        texts = [(repr(text), text) for text in ODD]
        for python, text in (*texts, *long_texts()):
            with given(f"sample={shown(solver.samples[0])}", f"answer={python}"), bounded_work():
                try:
                    await solve(solver.samples[0], _RecordingModel(_always(text)))
                except FailureError as error:
                    plain_data(error.failure, Failure)


async def can_be_cancelled_and_solves_afterwards(solver: _Solver) -> None:
    async with opened(solver.built()) as solve:
        sample = solver.samples[0]
        before = picture(await solve(sample, solver.model()))
        model = _Never(solver.answer)
        task = asyncio.ensure_future(solve(sample, model))
        await asyncio.wait(
            {task, reached := asyncio.ensure_future(model.reached.wait())}, return_when="FIRST_COMPLETED"
        )
        reached.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            expect(task.cancelled(), "it was cancelled while the model answered, and went on")
        with given(f"sample={shown(sample)} after another attempt was cancelled"):
            same(before, picture(await solve(sample, solver.model())), "before and after")


class _Never(_RecordingModel):
    """Never answers."""

    def __init__(self, answers: Callable[[Request], Any]) -> None:
        super().__init__(answers)
        self.reached = asyncio.Event()

    @override
    async def generate(self, request: Request) -> Completion:
        self.reached.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable: the event is never set")


async def declares_what_it_needs(solver: _Solver) -> None:
    """A model without likelihoods is then refused before the first attempt, and none is called without need."""
    async with opened(solver.built()) as solve:
        model = solver.model()
        await solve(solver.samples[0], model)
        asks = any(request.continuation is not None for request in model.requests)
        same(solver.needs_of(solve).likelihoods, asks, "`SolverNeeds.likelihoods`, and whether it asks")
        expect(
            solver.needs_of(solve).asks_model or not model.requests,
            "`SolverNeeds.asks_model` is false, and it called the model",
        )


async def shows_the_request_that_it_makes(solver: _Solver) -> None:
    """For solvers with `request(sample)`."""
    async with opened(solver.built()) as solve:
        for sample in solver.samples if isinstance(solve, Previewable) else ():
            model = solver.model()
            with given(f"sample={shown(sample)}"):
                preview = solve.request(sample)  # type: ignore[attr-defined]
                await solve(sample, model)
                same(preview, model.requests[0] if model.requests else None, "`request(sample)` and the request")


async def rehearses_with_traces_that_are_plain_data(solver: _Solver) -> None:
    """For solvers with `traces_without_a_model(sample)`."""
    async with opened(solver.built()) as solve:
        for sample in solver.samples if isinstance(solve, Rehearsable) else ():
            with given(f"sample={shown(sample)}"):
                traces = solve.traces_without_a_model(sample)  # type: ignore[attr-defined]
                expect(bool(traces), "there are none")
                for trace in traces:
                    plain_data(trace, Trace)


async def closes_what_it_opened(solver: _Solver) -> None:
    async with nothing_left():
        solve = solver.built()
        await asyncio.gather(*(solve(sample, solver.model()) for sample in solver.samples))
        await close_twice(solve)


CLAUSES = clauses_about("_Solver", globals())


def _always(text: str) -> Callable[[Request], str]:
    return lambda request: text
