"""The contract of a scorer: kept by a good one, and every clause broken by a bad one."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from tests.testing.broken import broken_by, clauses, leave_open, words

from assay.core.describe import ScorerInfo, Value, about, count, describes
from assay.core.errors import FailureError
from assay.core.seams import BuildContext
from assay.core.types import Failure, Request, Sample, Score, Trace
from assay.testing import check_scorer
from assay.testing import scorer as contract

SAMPLE = Sample(id="1", targets=("Paris",), row={"seen": 0})


class Equals:
    """A good one; the classes below break it in one way each."""

    def __init__(self, context: BuildContext) -> None:
        self.name: Any = "equals"
        self._context = context

    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"score": float(trace.prediction in sample.targets)})


class Judged(Equals):
    """A good one that asks another model."""

    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        judge = self._context.model_behind("judge")
        assert judge is not None
        try:
            said = (await judge.generate(Request(prompt=trace.prediction))).text
        except FailureError as error:
            old = error.failure
            failure = Failure(stage="scorer", part=self.name, kind=old.kind, message="the judge failed", retryable=True)
            raise FailureError(failure) from error
        return Score(name="equals", values={"score": float(said == "1")})


class Nameless(Equals):
    def __init__(self, context: BuildContext) -> None:
        super().__init__(context)
        self.name = ""


class GivesANumber(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return 1.0


class AnotherName(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="mine", values={"score": 1.0})


class GivesAnObject(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"score": 1.0}, metadata={"trace": object()})


class Percent(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"score": 100.0})


class Infinite(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"nats": 1e308 * 10})


SAYS_WORDS = ScorerInfo(values=(count("words"), Value(name="tone", kind="label", labels=("calm",))))


@describes(SAYS_WORDS)
class HalfAWord(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"words": 0.5})


@describes(SAYS_WORDS)
class AnotherLabel(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"tone": "loud"})


@describes(SAYS_WORDS)
class MoreThanItSays(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"length": 3.0})


@describes(ScorerInfo(values=(Value(name="stars", range=(1.0, 5.0)),)))
class SixStars(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"stars": 6})


@describes(lambda options, values: ScorerInfo(values=(Value(name="stars", range=(1.0, options["most"])),)))
class ByItsOptions(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"stars": 6})


class Chances(Equals):
    number = itertools.count()

    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"n": next(self.number)})


class Mixes(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        self._trace = trace
        await asyncio.sleep(0)
        return Score(name="equals", values={"score": 0.0}, answer=self._trace.prediction)


class Marks(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        if sample.row is not None:
            sample.row["seen"] += 1
        return await super().__call__(sample, trace)


class MarksOnce(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        sample.extras["seen"] = True
        return await super().__call__(sample, trace)


class ZeroForNoVerdict(Judged):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        try:
            return await super().__call__(sample, trace)
        except FailureError:
            return Score(name="equals", values={"score": 0.0})


class AnotherKind(Judged):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        try:
            return await super().__call__(sample, trace)
        except FailureError as error:
            raise FailureError(Failure(stage="scorer", part="x", kind="exception", message="no")) from error


class Stumbles(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        return Score(name="equals", values={"first": ord(trace.prediction[-1])} if trace.prediction != " " else 1 / 0)  # type: ignore[arg-type]


class BlamesTheModel(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        if trace.prediction == " ":
            raise FailureError(Failure(stage="model", part="m", kind="bad_output", message="empty"))
        return await super().__call__(sample, trace)


class OnlyComputes(Judged):
    only_computes = True


class StartsWithAnError(Equals):
    def start_here(self) -> Any:
        raise RuntimeError("no sandbox here")


class LeavesAFile(Equals):
    async def __call__(self, sample: Sample, trace: Trace) -> Any:
        leave_open()
        return await super().__call__(sample, trace)


BROKEN = [
    (Nameless, contract.gives_a_score_that_is_plain_data),
    (GivesANumber, contract.gives_a_score_that_is_plain_data),
    (AnotherName, contract.gives_a_score_that_is_plain_data),
    (GivesAnObject, contract.gives_a_score_that_is_plain_data),
    (Infinite, contract.gives_a_score_that_is_plain_data),
    (Percent, contract.gives_finite_numbers_and_shares_between_0_and_1),
    *(
        (each, contract.gives_the_values_that_its_description_says)
        for each in (HalfAWord, AnotherLabel, MoreThanItSays)
    ),
    (SixStars, contract.gives_the_values_that_its_description_says),
    (Chances, contract.gives_the_same_score_for_the_same_answer),
    (Mixes, contract.gives_the_same_score_for_the_same_answer),
    (Marks, contract.leaves_sample_and_trace_as_they_are),
    (MarksOnce, contract.leaves_sample_and_trace_as_they_are),
    (ZeroForNoVerdict, contract.fails_where_a_judge_fails),
    (AnotherKind, contract.fails_where_a_judge_fails),
    (Stumbles, contract.gives_a_score_or_a_failure_whatever_was_answered),
    (BlamesTheModel, contract.gives_a_score_or_a_failure_whatever_was_answered),
    (OnlyComputes, contract.asks_nobody_and_opens_nothing_if_it_only_computes),
    (StartsWithAnError, contract.starts_before_the_first_attempt_or_says_why_not),
    (LeavesAFile, contract.closes_what_it_opened),
]


@pytest.mark.parametrize(("make", "clause"), BROKEN)
def test_a_bad_scorer_breaks_its_clause(make: Any, clause: Any) -> None:
    answers = ("Paris", "Rome")
    assert broken_by(lambda: check_scorer(make, SAMPLE, answers=answers)).clause == words(clause)


def test_an_expected_value_that_is_not_given_is_reported() -> None:
    error = broken_by(lambda: check_scorer(Equals, SAMPLE, expected={"Paris": {"score": 1.0}, "paris": {"score": 1.0}}))
    assert error.clause == words(contract.gives_the_values_that_are_expected)
    assert "prediction='paris'" in str(error.given)


def test_answers_with_expected_values_are_scored_together_with_others_too() -> None:
    class MixesVerdicts(Equals):
        async def __call__(self, sample: Sample, trace: Trace) -> Any:
            self._trace = trace
            await asyncio.sleep(0)
            return Score(name="equals", values={"score": float(self._trace.prediction == "Oslo")})

    error = broken_by(lambda: check_scorer(MixesVerdicts, SAMPLE, expected={"Oslo": {"score": 1.0}}))
    assert error.clause == words(contract.gives_the_same_score_for_the_same_answer)


def test_a_description_that_depends_on_options_is_given() -> None:
    check_scorer(ByItsOptions, SAMPLE)
    error = broken_by(lambda: check_scorer(ByItsOptions, SAMPLE, info=about(ByItsOptions, {"most": 5.0})))  # type: ignore[arg-type]
    assert "`stars` is 6, and described as a number from (1.0, 5.0)" in str(error)


def test_every_clause_can_break() -> None:
    elsewhere = contract.gives_the_values_that_are_expected
    assert clauses([*(clause for _, clause in BROKEN), elsewhere]) == clauses(contract.CLAUSES)


@pytest.mark.parametrize("make", [Equals, Judged])
def test_a_good_scorer_keeps_the_contract(make: Any) -> None:
    check_scorer(make, SAMPLE, expected={"Paris": {"score": 1.0}})
