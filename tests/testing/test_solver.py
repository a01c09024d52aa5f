"""The contract of a solver: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import msgspec
import pytest
from tests.testing.broken import broken_by, clauses, leave_open, words

from assay.core.describe import SolverNeeds, describes
from assay.core.errors import FailureError
from assay.core.seams import BuildContext, Model
from assay.core.types import Completion, Failure, Request, Sample, Trace
from assay.testing import check_solver
from assay.testing import solver as contract

SAMPLES = [Sample(id=letter, prompt=f"say {letter}", row={"seen": 0}) for letter in "abc"]


class Asks:
    """A good one; the classes below break it in one way each."""

    def __init__(self, context: BuildContext) -> None:
        pass

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        completion = await model.generate(self.request(sample))
        return Trace(prediction=completion.text, prompt=sample.prompt, completions=(completion,))

    def request(self, sample: Sample) -> Request:
        return Request(prompt=sample.prompt)


class GivesText(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Any:
        return "said"


class GivesAnObject(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        return msgspec.structs.replace(await super().__call__(sample, model), items=[{"at": object()}])


class Invents(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        trace = await super().__call__(sample, model)
        return msgspec.structs.replace(trace, completions=(Completion(text="cheaper"),))


class Forgets(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        return msgspec.structs.replace(await super().__call__(sample, model), completions=())


class Marks(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        if sample.row is not None:
            sample.row["seen"] += 1
        return await super().__call__(sample, model)


class MarksOnce(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        sample.extras["seen"] = True
        return await super().__call__(sample, model)


class Chances(Asks):
    number = itertools.count()

    def request(self, sample: Sample) -> Request:
        return Request(prompt=f"{sample.prompt} {next(self.number)}")


class Votes(Asks):
    """Asks three times, and keeps all answers."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        answers = [await model.generate(self.request(sample)) for _ in range(3)]
        return Trace(prediction=answers[0].text, completions=tuple(answers))


class CountsOneForThree(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        trace = await super().__call__(sample, model)
        return msgspec.structs.replace(trace, completions=trace.completions * 3)


class Mixes(Asks):
    """Keeps the sample at hand in itself."""

    async def __call__(self, sample: Sample, model: Model) -> Trace:
        self._sample = sample
        trace = await super().__call__(sample, model)
        return msgspec.structs.replace(trace, prompt=self._sample.prompt)


class Consoles(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        try:
            return await super().__call__(sample, model)
        except FailureError:
            return Trace(prediction="")


class Rewords(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        try:
            return await super().__call__(sample, model)
        except FailureError as error:
            failure = Failure(stage="solver", kind="exception", message=error.failure.message)
            raise FailureError(failure) from error


class Stumbles(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        trace = await super().__call__(sample, model)
        return msgspec.structs.replace(trace, prediction=trace.prediction.split()[0])


class WillNotEnd(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        try:
            return await super().__call__(sample, model)
        except asyncio.CancelledError:
            return Trace(prediction="never mind")


class Likelihoods(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        completion = await model.generate(Request(prompt=sample.prompt, continuation=" x"))
        return Trace(prediction="x", completions=(completion,))


@describes(SolverNeeds(likelihoods=True))
class Pretends(Asks):
    """Says that it needs likelihoods, and asks for none."""


@describes(SolverNeeds(asks_model=False))
class PretendsToKnow(Asks):
    """Says that it calls no model, and calls one."""


class ShowsAnother(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        completion = await model.generate(Request(prompt=f"Question: {sample.prompt}"))
        return Trace(prediction=completion.text, completions=(completion,))


class RehearsesNothing(Asks):
    def traces_without_a_model(self, sample: Sample) -> list[Trace]:
        return []


class LeavesAFile(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        leave_open()
        return await super().__call__(sample, model)


class LeavesATask(Asks):
    async def __call__(self, sample: Sample, model: Model) -> Trace:
        self._task = asyncio.ensure_future(asyncio.Event().wait())
        return await super().__call__(sample, model)


class ClosesOnce(Asks):
    closed = False

    async def aclose(self) -> None:
        if self.closed:
            raise RuntimeError("closed already")
        self.closed = True


BROKEN = [
    (GivesText, contract.gives_a_trace_that_is_plain_data),
    (GivesAnObject, contract.gives_a_trace_that_is_plain_data),
    (ClosesOnce, contract.gives_a_trace_that_is_plain_data),
    (Invents, contract.keeps_only_completions_that_the_model_gave),
    (Forgets, contract.keeps_only_completions_that_the_model_gave),
    (Marks, contract.leaves_the_sample_as_it_is),
    (MarksOnce, contract.leaves_the_sample_as_it_is),
    (Chances, contract.asks_the_same_for_the_same_sample),
    (CountsOneForThree, contract.takes_equal_sampled_requests_as_so_many_draws),
    (Mixes, contract.solves_many_at_once_as_one_by_one),
    (Consoles, contract.passes_a_failure_of_the_model_on_unchanged),
    (Rewords, contract.passes_a_failure_of_the_model_on_unchanged),
    (Stumbles, contract.gives_a_trace_or_a_failure_whatever_the_model_says),
    (WillNotEnd, contract.can_be_cancelled_and_solves_afterwards),
    (Likelihoods, contract.declares_what_it_needs),
    (Pretends, contract.declares_what_it_needs),
    (PretendsToKnow, contract.declares_what_it_needs),
    (ShowsAnother, contract.shows_the_request_that_it_makes),
    (RehearsesNothing, contract.rehearses_with_traces_that_are_plain_data),
    (LeavesATask, contract.closes_what_it_opened),
    (LeavesAFile, contract.closes_what_it_opened),
]


@pytest.mark.parametrize(("make", "clause"), BROKEN)
def test_a_bad_solver_breaks_its_clause(make: Any, clause: Any) -> None:
    assert broken_by(lambda: check_solver(make, SAMPLES)).clause == words(clause)


def test_every_clause_can_break() -> None:
    assert clauses([clause for _, clause in BROKEN]) == clauses(contract.CLAUSES)


def test_a_good_solver_keeps_the_contract() -> None:
    check_solver(Asks, SAMPLES)
    check_solver(Votes, SAMPLES)


def test_it_can_be_checked_where_a_loop_is_running() -> None:
    async def in_a_notebook() -> None:
        check_solver(Asks, SAMPLES)

    asyncio.run(in_a_notebook())


def test_the_message_has_the_sample() -> None:
    told = str(broken_by(lambda: check_solver(Consoles, SAMPLES)))
    assert "it passes a failure of the model on unchanged\n  given: sample=Sample(id='a'" in told
    assert "but: the model failed, and there is a trace" in told
