"""What every scorer must do."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from assay.core.describe import ScorerInfo, Value, about
from assay.core.errors import FailureError, UsageError
from assay.core.seams import BuildContext, Dataset, Preparable, SaysIfPure, Scorer
from assay.core.types import Completion, Failure, Message, Request, Sample, Score, ScoreValue, Trace
from assay.testing.contract import (
    bounded_work,
    clauses_about,
    expect,
    given,
    hold_to,
    is_name,
    picture,
    plain_data,
    same,
    shown,
)
from assay.testing.hostile_texts import ODD, long_texts
from assay.testing.leftovers import close_twice, nothing_left, opened
from assay.testing.scripted import ScriptedModel, context_with

MakeScorer = Callable[[BuildContext], Scorer]
ANSWERS = ("Paris", "", "The answer is (B).", "42")
FAILURE = Failure(stage="model", part="scripted", kind="rate_limit", message="no more today", retryable=True)
UNIT = ("score", "is_correct")
"""Values that are read as shares, between 0 and 1."""
_STAGES = ("scorer", "metric", "sandbox")


class _Scorer(NamedTuple):
    make: MakeScorer
    as_given: Sample
    answers: Sequence[str | Trace]
    expected: Mapping[str, Mapping[str, ScoreValue]]
    judge: Callable[[Request], str | Completion]
    dataset: Dataset | None
    texts: int | None
    info: ScorerInfo | None

    @property
    def sample(self) -> Sample:
        """A fresh copy: a clause may change it."""
        return deepcopy(self.as_given)

    def built(self, judge: ScriptedModel | None = None) -> Scorer:
        model = judge or ScriptedModel(self.judge)
        return self.make(context_with(defaultdict(lambda: model), self.dataset))  # under every name

    def described(self, score: Scorer) -> ScorerInfo | None:
        """What the scorer says of itself; a class whose description depends on options says nothing without them."""
        try:
            said = self.info or about(type(score), {})
        except (LookupError, TypeError, AttributeError):
            return None
        return said if isinstance(said, ScorerInfo) else None

    def traces(self) -> list[Trace]:
        answers = (*self.answers, *self.expected)
        return [answer if isinstance(answer, Trace) else trace_of(answer) for answer in answers]


def check_scorer(
    make: MakeScorer,
    sample: Sample,
    *,
    answers: Iterable[str | Trace] = ANSWERS,
    expected: Mapping[str, Mapping[str, ScoreValue]] | None = None,
    judge: Callable[[Request], str | Completion] = lambda request: "1",
    dataset: Dataset | None = None,
    texts: int | None = None,
    info: ScorerInfo | None = None,
) -> None:
    """`BrokenContractError` where a scorer makes a score of a failure, changes what it looks at, or leaves things open.

    `make` is given the `BuildContext` that a task would give it, in which every other model is one that says
    `judge(request)`. `answers` are texts, or traces, that it gives a score; `expected` holds the values of some.
    `texts` is how many of the long texts are tried, for scorers that start a process for each. `info` is what its
    factory says with `describes`, where that is not its class, or depends on options.
    """
    made = _Scorer(make, sample, tuple(answers), expected or {}, judge, dataset, texts, info)
    hold_to("scorer", make, CLAUSES, made)


def trace_of(text: str) -> Trace:
    """The trace of a solver that called the model once."""
    messages = (Message(role="user", content="?"), Message(role="assistant", content=text))
    return Trace(prediction=text, messages=messages, completions=(Completion(text=text),))


async def gives_a_score_that_is_plain_data(scorer: _Scorer) -> None:
    async with opened(scorer.built()) as score:
        expect(is_name(score.name), f"its name is {score.name!r}")
        for trace in scorer.traces():
            with _given(scorer, trace):
                result = await score(scorer.sample, trace)
                expect(isinstance(result, Score), f"returned {shown(result)}, no `assay.Score`")
                expect(result.name == score.name, f"its score is called {result.name!r}, and the scorer {score.name!r}")
                plain_data(result, Score)


async def gives_finite_numbers_and_shares_between_0_and_1(scorer: _Scorer) -> None:
    async with opened(scorer.built()) as score:
        for trace in scorer.traces():
            with _given(scorer, trace):
                for name, value in (await score(scorer.sample, trace)).values.items():
                    number = isinstance(value, int | float)
                    expect(not number or math.isfinite(value), f"`{name}` is {value!r}")  # type: ignore[arg-type]
                    inside = number and 0.0 <= value <= 1.0  # type: ignore[operator]
                    expect(name not in UNIT or inside or value is None, f"`{name}` is {value!r}")


async def gives_the_values_that_its_description_says(scorer: _Scorer) -> None:
    """For scorers that say it: intervals, gates and ranks rely on it."""
    async with opened(scorer.built()) as score:
        if (info := scorer.described(score)) is None or not info.values:
            return
        known = {value.name: value for value in info.values}
        for trace in scorer.traces():
            with _given(scorer, trace):
                for name, found in (await score(scorer.sample, trace)).values.items():
                    expect(name in known or info.more_values, f"`{name}` is not in its description")
                    if name in known and found is not None:
                        _expect_described(known[name], found)


def _expect_described(value: Value, found: ScoreValue) -> None:
    what = f"`{value.name}` is {found!r}, and described as a {value.kind}"
    if value.kind == "label":
        expect(isinstance(found, str) and (not value.labels or found in value.labels), f"{what} {shown(value.labels)}")
        return
    expect(isinstance(found, int | float), what)
    number = float(found)  # type: ignore[arg-type]  # just expected
    expect(value.kind != "count" or number.is_integer(), what)
    expect(value.range is None or value.range[0] <= number <= value.range[1], f"{what} from {value.range}")


async def gives_the_values_that_are_expected(scorer: _Scorer) -> None:
    async with opened(scorer.built()) as score:
        for answer, values in scorer.expected.items():
            with _given(scorer, trace_of(answer)):
                result = await score(scorer.sample, trace_of(answer))
                same(dict(values), {name: result.values.get(name) for name in values}, "expected and found")


async def gives_the_same_score_for_the_same_answer(scorer: _Scorer) -> None:
    """Whatever was scored before, and alone or together with others."""
    async with opened(scorer.built()) as score:
        traces = scorer.traces()
        first = [_comparable(await score(scorer.sample, trace)) for trace in traces]
        together = await asyncio.gather(*(score(scorer.sample, trace) for trace in (*reversed(traces), *traces)))
        for trace, before, now in zip((*reversed(traces), *traces), (*reversed(first), *first), together, strict=True):
            with _given(scorer, trace):
                same(before, _comparable(now), "alone and together with others")


async def leaves_sample_and_trace_as_they_are(scorer: _Scorer) -> None:
    async with opened(scorer.built()) as score:
        for trace in scorer.traces():
            sample = scorer.sample
            before = picture((sample, trace))
            with _given(scorer, trace):
                await score(sample, trace)
                same(before, picture((sample, trace)), "sample and trace before and after")


async def fails_where_a_judge_fails(scorer: _Scorer) -> None:
    """For scorers that call another model: without an answer of the judge there is no verdict."""
    judge = ScriptedModel(lambda request: FailureError(FAILURE))
    async with opened(scorer.built(judge)) as score:
        for trace in scorer.traces():
            before = len(judge.requests)
            with _given(scorer, trace):
                try:
                    result = await score(scorer.sample, trace)
                except FailureError as error:
                    expect(len(judge.requests) > before, f"failed without asking the judge: {error}")
                    same(FAILURE.kind, error.failure.kind, "the kind of the judge's failure and of the scorer's")
                    expect(error.failure.retryable, "the judge's failure can be retried, and the scorer's cannot")
                else:
                    expect(len(judge.requests) == before, f"the judge failed, and there is a score: {shown(result)}")


async def gives_a_score_or_a_failure_whatever_was_answered(scorer: _Scorer) -> None:
    verdict = ""
    async with opened(scorer.built(ScriptedModel(lambda request: verdict))) as score:
        for python, text in [*((repr(text), text) for text in ODD), *[*long_texts()][: scorer.texts]]:
            verdict = text
            with given(f"sample={shown(scorer.sample)}", f"prediction={python}"), bounded_work():
                try:
                    result: object = await score(scorer.sample, trace_of(text))
                    expect(isinstance(result, Score), f"returned {shown(result)}")
                except FailureError as error:
                    failure = error.failure
                    expect(failure.stage in _STAGES, f"failed at stage {failure.stage!r}, which is not a scorer's")
                    expect(
                        bool(failure.message and failure.part), f"the failure does not say what broke: {shown(failure)}"
                    )


async def asks_nobody_and_opens_nothing_if_it_only_computes(scorer: _Scorer) -> None:
    """For scorers that say so: another process builds its own and gives the same scores."""
    judge = ScriptedModel(scorer.judge)
    async with opened(scorer.built(judge)) as score, opened(scorer.built(judge)) as other:
        if not (isinstance(score, SaysIfPure) and score.only_computes):
            return
        async with nothing_left():
            for trace in scorer.traces():
                with _given(scorer, trace):
                    one, two = await score(scorer.sample, trace), await other(scorer.sample, trace)
                    same(_comparable(one), _comparable(two), "this scorer and another that was built alike")
        expect(not judge.requests, "`only_computes` is set, and it asked a model")


async def starts_before_the_first_attempt_or_says_why_not(scorer: _Scorer) -> None:
    """For scorers with `start_here()`."""
    async with opened(scorer.built()) as score:
        if isinstance(score, Preparable):
            try:
                score.start_here()
            except (FailureError, UsageError) as error:
                expect(bool(str(error)), "refused without a reason")


async def closes_what_it_opened(scorer: _Scorer) -> None:
    async with nothing_left():
        score = scorer.built()
        await asyncio.gather(*(score(scorer.sample, trace) for trace in scorer.traces()))
        await close_twice(score)


CLAUSES = clauses_about("_Scorer", globals())


def _comparable(score: Score) -> bytes:
    """A score without its metadata, which may hold how long it took."""
    return picture((score.name, score.values, score.answer, score.extracted))


def _given(scorer: _Scorer, trace: Trace) -> Any:
    return given(f"sample={shown(scorer.sample)}", f"prediction={shown(trace.prediction)}")
