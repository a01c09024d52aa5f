"""What every model must do, whatever it talks to, and every wrapper of one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from assay.core.describe import ModelOffers
from assay.core.errors import FailureError
from assay.core.model_stack import innermost
from assay.core.seams import FillsBatches, HasSettings, Model, NeedsKey, TakesBatches, identity_of, offers_of
from assay.core.types import Completion, Failure, Message, Request
from assay.models.adapters.python_callable import as_model
from assay.models.rate_limits import HasRateLimits, RateLimits
from assay.models.served import served_by
from assay.scorers.embedding import cosine, embedding_of
from assay.testing.contract import clauses_about, expect, given, hold_to, is_name, picture, plain_data, same, shown
from assay.testing.hostile_texts import ODD
from assay.testing.leftovers import close_twice, nothing_left
from assay.testing.scripted import ScriptedModel

MakeModel = Callable[[], Any]
CLOSE_ENOUGH = 1e-4
"""How far the log-likelihood of a text may depend on what is computed at the same time."""


@dataclass(frozen=True)
class Exam:
    """What is known about a model: a question that it answers, its answer, and a request that it must fail."""

    answer: Callable[[int, int], str] | None = None
    """Its answer to the question; None where it is unknown."""
    breaking: Request | None = None
    """None is for models that nothing breaks."""
    question: Callable[[int, int], str] | None = None
    """A prompt with two numbers that it answers; None: `compute: A + B`, which it may refuse, as it does all that is
    outside its domain, unless its `answer` is known."""


class _Examined(NamedTuple):
    make: MakeModel
    exam: Exam

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Model]:
        made = self.make()
        if isinstance(made, AbstractAsyncContextManager):
            async with made as model:
                yield as_model(model)
        else:
            model = as_model(made)
            try:
                yield model
            finally:
                await close_twice(model)

    def question(self, a: int, b: int) -> Request:
        return question(a, b) if self.exam.question is None else Request(prompt=self.exam.question(a, b))

    async def answered(self, model: Model, a: int, b: int, request: Request | None = None) -> Completion | None:
        """None where the model refuses what it was never said to answer."""
        request = self.question(a, b) if request is None else request
        with given(f"request={shown(request)}"):
            [outcome] = await asyncio.gather(model.generate(request), return_exceptions=True)
            self.expect_answer(outcome, a, b, model)
            return outcome if isinstance(outcome, Completion) else None

    def expect_answer(self, outcome: object, a: int, b: int, model: Model) -> None:
        if isinstance(outcome, FailureError) and self.exam.question is None and self.exam.answer is None:
            _expect_failure(outcome.failure, model)
            return
        if isinstance(outcome, BaseException):
            raise outcome
        expect(isinstance(outcome, Completion), f"answered {shown(outcome)}, no `assay.Completion`")
        if self.exam.answer is not None and isinstance(outcome, Completion):
            same(self.exam.answer(a, b), outcome.text, "expected and answered")


def check_model(make: MakeModel, exam: Exam = Exam()) -> None:  # noqa: B008 - frozen
    """`BrokenContractError` where a model mixes up answers, hides a failure, or cannot be cancelled or closed.

    `make` returns a new model, or anything that assay takes for one (a function, an adapter with `generate(prompts)`),
    or an async context manager that gives one. Every clause gets a new model.
    """
    hold_to("model", make, CLAUSES, _Examined(make, exam))


def question(a: int, b: int) -> Request:
    return Request(prompt=f"compute: {a} + {b}")


async def answers_a_prompt(examined: _Examined) -> None:
    async with examined.opened() as model:
        completion = await examined.answered(model, 2, 3)
        seconds = 0.0 if completion is None else completion.seconds
        expect(seconds >= 0 and math.isfinite(seconds), f"it took {seconds} s")


async def gives_completions_that_are_plain_data(examined: _Examined) -> None:
    async with examined.opened() as model:
        if (completion := await examined.answered(model, 2, 3)) is not None:
            plain_data(completion, Completion)


async def answers_a_single_message_like_the_same_prompt(examined: _Examined) -> None:
    async with examined.opened() as model:
        message = Message(role="user", content=examined.question(20, 3).text())
        await examined.answered(model, 20, 3, Request(messages=(message,)))


async def leaves_the_request_as_it_is(examined: _Examined) -> None:
    async with examined.opened() as model:
        message = Message(role="user", content=examined.question(1, 2).text())
        request = Request(messages=(message,), stop=("\n\n\n",))
        before = picture(request)
        await examined.answered(model, 1, 2, request)
        same(before, picture(request), "the request before and after")


async def answers_many_at_once_each_with_its_own(examined: _Examined) -> None:
    async with examined.opened() as model:
        requests = [examined.question(number, 1) for number in range(40)]
        outcomes = await asyncio.gather(*map(model.generate, requests), return_exceptions=True)
        for number, outcome in enumerate(outcomes):
            with given(f"request={shown(requests[number])}, together with 39 others"):
                examined.expect_answer(outcome, number, 1, model)


async def answers_a_batch_as_it_answers_one_by_one(examined: _Examined) -> None:
    """For models that take many requests in one call."""
    async with examined.opened() as model:
        if not isinstance(model, TakesBatches):
            return
        requests = [examined.question(number, 1) for number in range(9)]
        outcomes = await model.generate_batch(requests)
        same(9, len(outcomes), "requests and outcomes")
        for number, outcome in enumerate(outcomes):
            with given(f"request={shown(requests[number])}, in a batch of 9"):
                examined.expect_answer(outcome, number, 1, model)


async def scores_a_continuation_the_same_alone_and_in_company(examined: _Examined) -> None:
    """For models that declare it."""
    async with examined.opened() as model:
        if offers_of(model).likelihoods == "no":
            return
        requests = [Request(prompt="one two" + " three" * (n % 4), continuation=f" four {n}") for n in range(9)]
        together = await asyncio.gather(*(model.generate(request) for request in requests))
        for request, in_batch in zip(requests, together, strict=True):
            with given(f"request={shown(request)}"):
                alone = (await model.generate(request)).logprob
                expect(alone is not None and alone < 0, f"the log-likelihood is {alone}")
                near = (
                    alone is not None and in_batch.logprob is not None and abs(alone - in_batch.logprob) <= CLOSE_ENOUGH
                )
                expect(near, f"the log-likelihood is {alone} alone and {in_batch.logprob} together with others")


async def embeds_a_text_the_same_alone_and_in_company(examined: _Examined) -> None:
    """For models that declare it."""
    async with examined.opened() as model:
        if not offers_of(model).embeddings:
            return
        texts = [f"one two {'three ' * (n % 4)}{n}" for n in range(9)]
        together = await asyncio.gather(*(embedding_of(model, text) for text in texts))
        for text, in_batch in zip(texts, together, strict=True):
            with given(f"text={shown(text)}"):
                likeness = cosine(await embedding_of(model, text), in_batch)
                expect(likeness >= 1 - CLOSE_ENOUGH, f"alone and together with others, the cosine is {likeness}")


async def answers_or_fails_whatever_it_is_asked(examined: _Examined) -> None:
    """A lone surrogate cannot be sent, an empty prompt may be refused: with a `FailureError`, no other exception."""
    async with examined.opened() as model:
        for text in ODD:
            with given(f"prompt={shown(text)}"):
                try:
                    completion: object = await model.generate(Request(prompt=text, max_tokens=2))
                    expect(isinstance(completion, Completion), f"answered {shown(completion)}")
                except FailureError as error:
                    _expect_failure(error.failure, model)
        await examined.answered(model, 1, 1)


async def fails_with_a_failure_error_and_answers_afterwards(examined: _Examined) -> None:
    breaking = examined.exam.breaking
    if breaking is None:
        return
    async with examined.opened() as model:
        with given(f"request={shown(breaking)}"):
            try:
                completion = await model.generate(breaking)
            except FailureError as error:
                _expect_failure(error.failure, model)
            else:
                expect(False, f"answered {shown(completion)}, where it must fail")
        await examined.answered(model, 1, 1)


async def can_be_cancelled_and_answers_afterwards(examined: _Examined) -> None:
    async with examined.opened() as model:
        task = asyncio.ensure_future(model.generate(examined.question(1, 1)))
        await asyncio.sleep(0)
        waited = task.cancel()
        [outcome] = await asyncio.gather(task, return_exceptions=True)
        if not waited:
            examined.expect_answer(outcome, 1, 1, model)
        expect(task.cancelled() or not waited, "it went on although it was cancelled")
        await examined.answered(model, 1, 2)


async def has_a_name_and_settings_that_are_plain_data(examined: _Examined) -> None:
    async with examined.opened() as model:
        expect(is_name(model.name), f"its name is {model.name!r}")
        settings = model.settings if isinstance(model, HasSettings) else {}
        plain_data(settings, type(settings))
        offers_of(model)
        served = await served_by(model)
        before = picture((identity_of(model), served))
        await examined.answered(model, 1, 1)
        after = picture((identity_of(model), await served_by(model)))
        same(before, after, "name, settings and what is served, before and after an answer")


async def closes_what_it_opened(examined: _Examined) -> None:
    async with nothing_left(), examined.opened() as model:
        await examined.answered(model, 1, 1)
        await close_twice(model)


CLAUSES = clauses_about("_Examined", globals())


def _expect_failure(failure: Failure, model: Model) -> None:
    same(("model", model.name), (failure.stage, failure.part), "stage and part of the failure")
    expect(bool(failure.message) and failure.message.isprintable(), f"its message is {failure.message!r}")


# -- a wrapper of a model is a model --------------------------------------------------------------------------------

Wrap = Callable[[Model], Model]


def check_model_wrapper(wrap: Wrap) -> None:
    """`BrokenContractError` where a wrapper loses what the model inside declares, answers, or has to close."""
    hold_to("wrapper", wrap, WRAPPER_CLAUSES, wrap)


async def forwards_every_offer(wrap: Wrap) -> None:
    for offers in _offers():
        with given(f"a model with {offers}"):
            same(offers, offers_of(wrap(_Inside(offers))), "inside and outside")


async def forwards_name_and_settings(wrap: Wrap) -> None:
    inside = _Inside()
    same(identity_of(inside), identity_of(wrap(inside)), "inside and outside")


async def lets_the_run_reach_what_the_model_inside_offers(wrap: Wrap) -> None:
    """Its key, its rate limits, its batches; a subclass of `Wrapper` does, any other forwards the methods."""
    source = innermost(wrap(_Inside()))
    for protocol, method in ((NeedsKey, "require_key"), (HasRateLimits, "limits"), (FillsBatches, "set_batch_size")):
        expect(isinstance(source, protocol), f"the model inside has `{method}`, which cannot be reached any more")


async def asks_the_model_inside_and_gives_its_answer(wrap: Wrap) -> None:
    inside = _Inside()
    for request in (question(1, 2), Request(messages=(Message(role="user", content="compute: 3 + 4"),), seed=3)):
        with given(f"request={shown(request)}"):
            completion = await wrap(inside).generate(request)
            same(f"to {request.text()}", completion.text, "the answers inside and outside")
            same(request, inside.requests[-1], "the requests outside and inside")


async def passes_a_failure_on(wrap: Wrap) -> None:
    failure = Failure(stage="model", part="inside", kind="bad_request", message="no such thing")
    inside = _Inside(answers=lambda request: FailureError(failure))
    try:
        completion = await wrap(inside).generate(question(1, 1))
    except FailureError as error:
        same(failure, error.failure, "the failures inside and outside")
    else:
        expect(False, f"the model failed, and the wrapper answered {shown(completion)}")


async def closes_the_model_inside(wrap: Wrap) -> None:
    inside = _Inside()
    async with nothing_left():
        outside = wrap(inside)
        await outside.generate(question(1, 1))
        await close_twice(outside)
    expect(inside.closed > 0, "the model inside was not closed")


WRAPPER_CLAUSES = clauses_about("Wrap", globals())


class _Inside(ScriptedModel):
    name = "inside"

    def __init__(
        self,
        offers: ModelOffers = ModelOffers(),  # noqa: B008 - frozen
        answers: Callable[[Request], Any] = lambda request: f"to {request.text()}",
    ) -> None:
        super().__init__(answers)
        self.offers = offers
        self.settings = {"url": "somewhere", "temperature": 0.5}
        self.closed = 0
        self.limits: RateLimits | None = None

    def require_key(self) -> None:
        """It has one."""

    def set_batch_size(self, size: int) -> None:
        """Any will do."""

    async def generate_batch(self, requests: list[Request]) -> list[Completion | FailureError]:
        outcomes: list[Completion | FailureError] = []
        for request in requests:
            try:
                outcomes.append(await self.generate(request))
            except FailureError as error:
                outcomes.append(error)
        return outcomes

    async def aclose(self) -> None:
        self.closed += 1


_OTHERWISE: dict[str, Any] = {"applies": (), "likelihoods": "unproven", "chat": False}


def _offers() -> Iterator[ModelOffers]:
    """None, and each alone: a wrapper that copies some by name loses the next one."""
    yield ModelOffers()
    for field in msgspec.structs.fields(ModelOffers):
        other: Any = _OTHERWISE.get(field.name, True)
        yield ModelOffers(**{field.name: other})
